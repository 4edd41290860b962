// Package skill has the Tools that read the skills of a Turn's pinned Snapshot: read_skill gives the body, read_skill_file a file that
// lies beside it in the Workspace.
//
// Functions: Tools, Any (whether a Snapshot has one), Find, Body. What is not in the pin does not exist, so a skill that was edited since
// reads as it was; its other files are read as they are now.
package skill
