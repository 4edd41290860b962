package command

import "testing"

// TestHands: what a program that is named is told to run is not covered by a rule about the program.
func TestHands(t *testing.T) {
	for line, sure := range map[string]bool{
		"git status": true, "git log --oneline -5": true, "git add *.go": true, "git commit -m 'a -c b'": true, "git diff HEAD~1": true, "git push origin main": true,
		"git checkout -b x": true, "git log --exclude=x": true, "git rebase main": true, "git --no-pager log": true, "git": true, "git submodule update": true,
		"git -c core.pager='sh -c id' log": false, "git -calias.x='!id' x": false, "git --config-env=core.pager=X log": false, "git --exec-path=/tmp x": false,
		"git --git-dir=x status": false, "git -C x status": false, "git $X log": false, "/usr/bin/git -c a=b x": false, "git rebase -x id": false, "git rebase -ix id": false, "git rebase --exec id": false, "git rebase --ex=id": false,
		"git grep -Oid x": false, "git bisect run id": false, "git submodule --quiet foreach id": false, "git difftool -x id": false, "git clone --upload-pack=id x": false,
		"git clone -u id x": false, "git clone -c core.x=y z": false, "git push --receive-pack=id": false, "git fetch ext::id": false, "git log --output=/etc/x": false, "git config alias.x '!id'": false,
		// git takes one letter where that is enough: these ran what they name.
		"git clone --u=id x": false, "git ls-remote --u id x": false, "git push --e=id x": false, "git archive --o=x HEAD": false,
		"git merge-index id -a": false, "git submodule--helper foreach id": false, "git rm --": true,
		"git archive -o x HEAD": false, "git filter-branch --tree-filter id": false, "git archive --exec=id --remote=x HEAD": false,
		"go test ./...": true, "go test -run Exec ./...": true, "go test -exec id ./...": false, "go build --toolexec=id ./...": false, "go vet -vettool=id ./...": false,
		"go build -ldflags='-linkmode=external -extld=./id' .": false, "go build -ldflags '-extld ./id' .": false, "go build -ldflags '-s -w -X main.v=1' .": true,
		"find . -name x": true, "find . -exec id ;": false, "find . -fprintf x y": false, "find . -okdir id +": false,
	} {
		if got := Parse(line); (got.Unsure == "") != sure {
			t.Errorf("%s: %q", line, got.Unsure)
		}
	}
}
