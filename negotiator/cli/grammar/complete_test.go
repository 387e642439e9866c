package grammar

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// commands is a command line for tests.
type commands struct {
	Run struct {
		Policy string `short:"p"`
		Level  string `enum:"debug,info,warn" default:"info" help:"How much\n is told. More is slower."`
		JSON   bool   `name:"json"`
		Secret string `hidden:""`
	} `cmd:"" default:"withargs"`
	Report struct {
		Form string `arg:"" enum:"csv,svg"`
	} `cmd:"" help:"Draw: it, as one file."`
}

// run runs the command line and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	parser, err := kong.New(&commands{}, Common(), kong.Name("prog"), kong.Writers(&out, &out),
		kong.Exit(func(int) {}), Values{"policy": {"easy", "easier", "slack"}})
	require.NoError(t, err)
	command, err := parser.Parse(args)
	require.NoError(t, err)
	require.NoError(t, command.Run())
	return out.String()
}

func TestComplete(t *testing.T) {
	for words, want := range map[string]string{
		"":                      "completion man report run",
		"ru":                    "run",
		"re":                    "report",
		"x":                     "",
		"run --l":               "--level",
		"--l":                   "--level",
		"--s":                   "",
		"--ver":                 "--version",
		"run --level ":          "debug info warn",
		"run --level w":         "warn",
		"run --level=w":         "--level=warn",
		"run --level = w":       "warn",
		"run --level =":         "debug info warn",
		"--policy ea":           "easier easy",
		"-p sl":                 "slack",
		"run --json --policy":   "--policy",
		"--policy easy --lev":   "--level",
		"run --json ":           "",
		"report ":               "csv svg",
		"report csv ":           "",
		"report -":              "--help --version",
		"completion f":          "fish",
		"run x = y":             "",
		"--policy easy : --l":   "",
		"--policy = eas":        "easier easy",
		"-p = y report c":       "csv",
		"--policy a : b = c re": "report",
	} {
		got := run(t, append([]string{"complete", "--"}, strings.Split(words, " ")...)...)
		require.Equal(t, strings.Fields(want), strings.Fields(got), words)
	}
}

// TestBashCompletes runs bash on its script, with words as bash splits them.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("skipped: there is no bash")
	}
	script := `prog() { printf '%s\n' "$@"; }
` + run(t, "completion", "bash") + `
COMP_WORDS=(prog run --policy "a b"); COMP_CWORD=3; _prog; printf '[%s]' "${COMPREPLY[@]}"; complete -p prog`
	out, err := exec.CommandContext(t.Context(), bash, "-c", script).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "[complete][--][run][--policy][a b]complete -o default -F _prog prog\n", string(out))
}

func TestDescriptions(t *testing.T) {
	require.Contains(t, run(t, "complete", "--described", "--", "rep"), "report\tDraw: it, as one file\n")
	require.Contains(t, run(t, "complete", "--described", "--", "run", "--le"), "--level\tHow much is told\n")
	require.Equal(t, "debug\n", run(t, "complete", "--described", "--", "run", "--level", "d"))
}

func TestMan(t *testing.T) {
	page := run(t, "man")
	require.True(t, strings.HasPrefix(page, ".TH PROG 1"))
	require.Contains(t, page, ".SS prog report <form>")
	require.Contains(t, page, ".TP\n\\fB\\-p, \\-\\-policy=STRING\\fR")
	require.NotContains(t, page, "secret")
	require.NotContains(t, page, "prog complete ")
}
