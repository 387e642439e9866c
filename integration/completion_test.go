package integration_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shells complete a line, of which the environment has LINE, by the script that the environment's PROGRAM
// prints, and print the words, each with what is shown of it behind a tab if the shell shows that.
var shells = map[string][]string{ //nolint:gochecknoglobals // never changed
	// As readline does: words end at blanks, and at = and colons, which are words themselves.
	"bash": {"--norc", "--noprofile", "-c", `eval "$("$PROGRAM" completion bash)"
spaced=${LINE//=/ = }; spaced=${spaced//:/ : }
read -ra COMP_WORDS <<<"$spaced"; [[ $LINE != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"_$PROGRAM"
[ ${#COMPREPLY[@]} -gt 0 ] || [[ $(complete -p "$PROGRAM") != *'-o default'* ]] ||
  COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]#=}"))
printf '%s\n' "${COMPREPLY[@]}"`},
	// In a terminal: another zsh is typed into, and the function that gets all words prints them.
	"zsh": {"-f", "-c", `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "source $HELPER"
while zpty -r z text && [[ $text != *ready* ]]; do :; done
zpty -n -w z "$LINE"$'\t'
integer inside=0
while zpty -r z text; do
  text=${text%%$'\r\n'}
  case $text in
    *'<begin>') inside=1 ;;
    *'<end>') break ;;
    *) (( inside )) && print -r -- "$text" ;;
  esac
done
zpty -d z`},
	"fish": {"--no-config", "-c", `$PROGRAM completion fish | source; complete -C "$LINE"`},
}

// zshHelper prints what is completed, between two lines, and ends the shell.
const zshHelper = `autoload -Uz compinit && compinit -u -D
source <("$PROGRAM" completion zsh)
PROMPT=
unsetopt prompt_cr prompt_sp zle_bracketed_paste 2>/dev/null
bindkey '^I' complete-word
begins() { print -r -- '<begin>' }
ends() { print -r -- '<end>'; exit }
compprefuncs=(begins) comppostfuncs=(ends)
compadd() {
  local -a hits texts
  integer at=$@[(I)-d]
  if [[ ${@[1,(i)(-|--)]} == *-[OAD]\ * ]]; then builtin compadd "$@"; return; fi
  (( at )) && texts=("${(@P)@[at+1]}")
  builtin compadd -A hits -D texts "$@"
  integer i
  for (( i = 1; i <= $#hits; i++ )); do
    print -r -- "$hits[i]"$'\t'"$texts[i]"
  done
}
print ready
`

// TestShellsComplete has the shells themselves complete command lines by the scripts that programs print.
func TestShellsComplete(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "ktrace.swf"), nil, 0o600))
	helper := filepath.Join(t.TempDir(), "helper.zsh")
	require.NoError(t, os.WriteFile(helper, []byte(zshHelper), 0o600))
	for shell, args := range shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("skipped: there is no %s", shell)
			}
			for line, want := range map[string]string{
				"condorsim swee":                     "sweep",
				"condorsim r":                        "replay report run",
				"condorsim run --policy ea":          "easy",
				"condorsim run --policy=slack-":      "slack-small",
				"condorsim run --order wf":           "wfp wfp-wide",
				"condorsim run --gant":               "--gantt",
				"condorsim run --order a:b --polic":  "--policy --policy-opt",
				"condorsim run --workload kt":        "ktrace.swf",
				"condorsim run kt":                   "ktrace.swf",
				"condorsim completion ":              "bash fish zsh",
				"negotiator expl":                    "explain",
				"negotiator --log-level d":           "debug",
				"negotiator --policy conserv":        "conservative",
				"negotiator plugin ch":               "check",
				"classad ev":                         "eval",
				"classad explain --nosuch=1 ktrace.": "ktrace.swf",
			} {
				program, _, _ := strings.Cut(line, " ")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, path, args...)
				cmd.Dir = home
				cmd.Env = append(os.Environ(), "LINE="+line, "PROGRAM="+program, "HELPER="+helper, "HOME="+home,
					"TERM=dumb", "XDG_CONFIG_HOME="+home, "PATH="+binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
				out, err := cmd.Output()
				require.NoError(t, err, line)
				var words []string
				for answer := range strings.Lines(string(out)) {
					word, shown, _ := strings.Cut(strings.TrimRight(answer, "\r\n"), "\t")
					if shell != "bash" && word == "sweep" {
						require.Contains(t, shown, "Run a matrix of workloads and policies", line)
					}
					if word != "" {
						// fish completes whole words, and bash what is behind =.
						words = append(words, strings.TrimPrefix(word, "--policy="))
					}
				}
				require.Equal(t, strings.Fields(want), words, "%s\n%s", line, out)
			}
		})
	}
}
