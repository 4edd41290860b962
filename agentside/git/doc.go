// Package git reads the repositories of Workspaces by running the git of the machine.
//
// Program is that git: found anew for each use, run by us alone, joined at Close. Repositories are those of one Workspace and
// implement chat.Git.
//
// A repository is hostile: its configuration and its hooks name programs. So git never sees them. For each look a directory of
// our own stands in for .git: with a configuration written here, into which only a few harmless settings of the repository are
// copied, and with links to its objects and references. The index is read where it is. What the environment or the person's own
// configuration would add is left out as well.
//
// Caveats: clean filters do not run, so a file that is kept by one (large file storage) shows as changed once its time stamp
// differs. Submodules are not entered. git itself has the rights of the appliance, and reads links inside objects and references
// as it finds them.
package git
