package shell

import (
	"strings"
	"testing"
)

// placedAs holds one command line to what becomes of it.
func placedAs(t *testing.T, command string, want placed) {
	t.Helper()
	if got := place(command); got != want {
		t.Errorf("place(%q)\n got %+v\nwant %+v", command, got, want)
	}
}

func TestPlaceLeavesAlone(t *testing.T) {
	for _, command := range []string{
		"",
		"ls",
		"a && b",
		"a &&",
		"a |& b",
		"a |&",
		"echo 'x &'",
		`echo "x &"`,
		`echo x \&`,
		`echo x\&`,
		`echo $'it\'s &'`,
		"echo `sleep 1 &`",
		`echo "$(printf '"') &"`,
		`echo "${x:-a &}"`,
		"a & b",
		"a & b & wait",
		"cmd 2>&1",
		"cmd >&2",
		"cmd >&",
		"cmd &>",
		"cmd &> log",
		"cmd &>> log",
		"cmd <&3",
		"ls # build &",
		"# only a comment &",
		"echo $((5 & 3))",
		"((x &= 3))",
		"case a in a) echo 1 ;& b) echo 2 ;; esac",
		"cat <<EOF\nx &\nEOF",
		"cat <<EOF\nx &",
		"cat <<'E F' <<-G\nx &\nE F\n\ty &\n\tG",
		"echo 'open &",
		`echo "open &`,
		"echo ${open &",
		"echo x \\",
		`sh -c "sleep 100 &"`,
		// The shell says what is wrong with these.
		"& &",
		"a ; &",
		"a | &",
		"a > &",
		"a\n&",
	} {
		placedAs(t, command, placed{command: command})
	}
}

func TestPlacePromotes(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"sleep 100 &", "sleep 100"},
		{"sleep 100 & ", "sleep 100"},
		{"sleep 100&", "sleep 100"},
		{"sleep 100 &\n\n", "sleep 100"},
		{"sleep 100 & # server", "sleep 100   # server"},
		{"sleep 100 &# server", "sleep 100  # server"},
		{"sleep 100 \\\n &", "sleep 100 \\\n"},
		{`touch a\ &`, `touch a\ `},
		{"a && b &", "a && b"},
		{"a & b &", "a & b"},
		{"cmd > log 2>&1 &", "cmd > log 2>&1"},
		{"cmd &> log &", "cmd &> log"},
		{"nohup x &", "nohup x"},
		{"(x) &", "(x)"},
		{"{ x; } &", "{ x; }"},
		{"echo $(date) &", "echo $(date)"},
		{`echo "$(echo "a b" | tr a '"')" &`, `echo "$(echo "a b" | tr a '"')"`},
		{"echo $((1<<2)) &", "echo $((1<<2))"},
		{"echo a#b ${#x} $# &", "echo a#b ${#x} $#"},
		{`echo ${x:-'a}b'} ${y#\}} "${z:-"q'"}" "\"" &`, `echo ${x:-'a}b'} ${y#\}} "${z:-"q'"}" "\""`},
		{"echo \"`echo a`\" `echo \\`b\\`` &", "echo \"`echo a`\" `echo \\`b\\``"},
		{"cat <<\\E\"O\"F && sleep 1 &\nx &\nEOF", "cat <<\\E\"O\"F && sleep 1  \nx &\nEOF"},
		{"((x) ) | ((y) ) &", "((x) ) | ((y) )"},
		{"cat <<EOF &\nx\nEOF\n", "cat <<EOF  \nx\nEOF\n"},
		{"cat <<< here &", "cat <<< here"},
		{"echo 'x &' &", "echo 'x &'"},
	} {
		placedAs(t, c.command, placed{command: c.want, background: true})
	}
}

func TestPlaceNamesUntrackedChildren(t *testing.T) {
	for _, command := range []string{"(x &)", "( x &\n)", "{ x & }", "x & disown", "y=$(x &)"} {
		placedAs(t, command, placed{command: command, untracked: true})
	}
	placedAs(t, "(x &) &", placed{command: "(x &)", background: true, untracked: true})
}

func TestPlaceOfNothing(t *testing.T) {
	for _, command := range []string{"&", "  & \n", "& # x"} {
		placedAs(t, command, placed{command: command, lone: true})
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
		if rest := command[strings.LastIndexByte(command, '&')+1:]; strings.ContainsAny(rest, "'\"`") && !strings.ContainsAny(command, "#<\n") {
			t.Fatalf("%q was promoted although a quote follows the last &", command)
		}
	})
}
