package shell

import (
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	type want struct {
		command                     string
		background, untracked, lone bool
	}
	same := func(command string) want { return want{command: command} }
	cases := []struct {
		command string
		want    want
	}{
		// Left alone.
		{"", same("")},
		{"ls", same("ls")},
		{"a && b", same("a && b")},
		{"a &&", same("a &&")},
		{"a |& b", same("a |& b")},
		{"a |&", same("a |&")},
		{"echo 'x &'", same("echo 'x &'")},
		{`echo "x &"`, same(`echo "x &"`)},
		{`echo x \&`, same(`echo x \&`)},
		{`echo x\&`, same(`echo x\&`)},
		{`echo $'it\'s &'`, same(`echo $'it\'s &'`)},
		{"echo `sleep 1 &`", same("echo `sleep 1 &`")},
		{`echo "$(printf '"') &"`, same(`echo "$(printf '"') &"`)},
		{`echo "${x:-a &}"`, same(`echo "${x:-a &}"`)},
		{"a & b", same("a & b")},
		{"a & b & wait", same("a & b & wait")},
		{"cmd 2>&1", same("cmd 2>&1")},
		{"cmd >&2", same("cmd >&2")},
		{"cmd >&", same("cmd >&")},
		{"cmd &>", same("cmd &>")},
		{"cmd &> log", same("cmd &> log")},
		{"cmd &>> log", same("cmd &>> log")},
		{"cmd <&3", same("cmd <&3")},
		{"ls # build &", same("ls # build &")},
		{"# only a comment &", same("# only a comment &")},
		{"echo $((5 & 3))", same("echo $((5 & 3))")},
		{"((x &= 3))", same("((x &= 3))")},
		{"case a in a) echo 1 ;& b) echo 2 ;; esac", same("case a in a) echo 1 ;& b) echo 2 ;; esac")},
		{"cat <<EOF\nx &\nEOF", same("cat <<EOF\nx &\nEOF")},
		{"cat <<EOF\nx &", same("cat <<EOF\nx &")},
		{"cat <<'E F' <<-G\nx &\nE F\n\ty &\n\tG", same("cat <<'E F' <<-G\nx &\nE F\n\ty &\n\tG")},
		{"echo 'open &", same("echo 'open &")},
		{`echo "open &`, same(`echo "open &`)},
		{"echo ${open &", same("echo ${open &")},
		{"echo x \\", same("echo x \\")},
		{`sh -c "sleep 100 &"`, same(`sh -c "sleep 100 &"`)},
		// The shell says what is wrong with these.
		{"& &", same("& &")},
		{"a ; &", same("a ; &")},
		{"a | &", same("a | &")},
		{"a > &", same("a > &")},
		{"a\n&", same("a\n&")},

		// Promoted.
		{"sleep 100 &", want{command: "sleep 100", background: true}},
		{"sleep 100 & ", want{command: "sleep 100", background: true}},
		{"sleep 100&", want{command: "sleep 100", background: true}},
		{"sleep 100 &\n\n", want{command: "sleep 100", background: true}},
		{"sleep 100 & # server", want{command: "sleep 100   # server", background: true}},
		{"sleep 100 &# server", want{command: "sleep 100  # server", background: true}},
		{"sleep 100 \\\n &", want{command: "sleep 100 \\\n", background: true}},
		{`touch a\ &`, want{command: `touch a\ `, background: true}},
		{"a && b &", want{command: "a && b", background: true}},
		{"a & b &", want{command: "a & b", background: true}},
		{"cmd > log 2>&1 &", want{command: "cmd > log 2>&1", background: true}},
		{"cmd &> log &", want{command: "cmd &> log", background: true}},
		{"nohup x &", want{command: "nohup x", background: true}},
		{"(x) &", want{command: "(x)", background: true}},
		{"{ x; } &", want{command: "{ x; }", background: true}},
		{"echo $(date) &", want{command: "echo $(date)", background: true}},
		{`echo "$(echo "a b" | tr a '"')" &`, want{command: `echo "$(echo "a b" | tr a '"')"`, background: true}},
		{"echo $((1<<2)) &", want{command: "echo $((1<<2))", background: true}},
		{"echo a#b ${#x} $# &", want{command: "echo a#b ${#x} $#", background: true}},
		{"cat <<EOF &\nx\nEOF\n", want{command: "cat <<EOF  \nx\nEOF\n", background: true}},
		{"cat <<< here &", want{command: "cat <<< here", background: true}},
		{"echo 'x &' &", want{command: "echo 'x &'", background: true}},

		// A child that nobody follows.
		{"(x &)", want{command: "(x &)", untracked: true}},
		{"( x &\n)", want{command: "( x &\n)", untracked: true}},
		{"{ x & }", want{command: "{ x & }", untracked: true}},
		{"x & disown", want{command: "x & disown", untracked: true}},
		{"y=$(x &)", want{command: "y=$(x &)", untracked: true}},
		{"(x &) &", want{command: "(x &)", background: true, untracked: true}},

		{"&", want{command: "&", lone: true}},
		{"  & \n", want{command: "  & \n", lone: true}},
		{"& # x", want{command: "& # x", lone: true}},
	}
	for _, c := range cases {
		t.Run(c.command, func(t *testing.T) {
			p := place(c.command)
			got := want{p.command, p.background, p.untracked, p.lone}
			if got != c.want {
				t.Errorf("place(%q)\n got %+v\nwant %+v", c.command, got, c.want)
			}
		})
	}
}

func TestScanGivesUpOnDeepNesting(t *testing.T) {
	for _, open := range []string{"(", "$(", `"$(`, "${x:-"} {
		command := strings.Repeat(open, 100_000) + " &"
		if p := place(command); p.background || p.command != command {
			t.Errorf("a line of %d %q was promoted", 100_000, open)
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, s := range []string{"sleep 1 &", `a "$(b 'c')" ${d} $((e)) <<F &` + "\ng\nF\n", "x & disown", "(x &)", `\`, "`", "$'", "& #", "a\\ &"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		p := place(command)
		if p.lone && (p.background || strings.Trim(command, " \t\r\n\\&") != "" && !strings.Contains(command, "#")) {
			t.Fatalf("%q counts as a lone &", command)
		}
		if !p.background {
			if p.command != command {
				t.Fatalf("%q became %q without being promoted", command, p.command)
			}
			return
		}
		// Promoting takes away one & and touches nothing else but blanks.
		if strings.Count(p.command, "&") != strings.Count(command, "&")-1 {
			t.Fatalf("%q became %q", command, p.command)
		}
		squeeze := strings.NewReplacer("&", "", " ", "", "\t", "", "\n", "", "\r", "", "\v", "", "\f", "", "\u0085", "", "\u00a0", "")
		if a, b := squeeze.Replace(command), squeeze.Replace(p.command); !strings.HasPrefix(a, b) {
			t.Fatalf("%q became %q", command, p.command)
		}
		// What was taken for an operator must not have been protected.
		if rest := command[strings.LastIndexByte(command, '&')+1:]; strings.ContainsAny(rest, "'\"`") && !strings.ContainsAny(rest, "#<\n") &&
			!strings.Contains(command, "<<") {
			t.Fatalf("%q was promoted although a quote follows the last &", command)
		}
	})
}
