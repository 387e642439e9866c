package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const moody = "github.com/condor-backfill/condor-backfill/integration/retry-tests/testdata/moody"

// call runs the command on a package of testdata whose tests fail as mood says. They are built
// once, not by each go test.
func call(t *testing.T, mood, logs string, args ...string) (code int, out, errs string) {
	t.Helper()
	binary := built(t)
	return callBy(t, func(ctx context.Context, args []string) *exec.Cmd {
		flags := []string{"-t", "-p", moody, binary, "-test.v=test2json"}
		for i, arg := range args {
			if arg == "-run" {
				flags = append(flags, "-test.run="+args[i+1])
			}
		}
		return exec.CommandContext(ctx, test2json(), flags...)
	}, mood, logs, args...)
}

func callBy(t *testing.T, command func(context.Context, []string) *exec.Cmd, mood, logs string,
	args ...string,
) (code int, out, errs string) {
	t.Helper()
	t.Setenv("RETRY_MOOD", mood)
	t.Setenv("RETRY_MEMORY", t.TempDir())
	var o, e bytes.Buffer
	r := runner{out: &o, errs: &e, command: command}
	code = r.run(t.Context(), append([]string{"-logs", logs}, args...))
	return code, o.String(), e.String()
}

var folder string //nolint:gochecknoglobals // TestMain deletes it

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "retry-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(folder, "moody.test")
	if _, err := os.Stat(binary); err != nil {
		out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary,
			"./testdata/moody").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return binary
}

// test2json is the program with which go test converts the tests' output to events.
var test2json = sync.OnceValue(func() string {
	path, err := exec.Command("go", "tool", "-n", "test2json").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(path))
})

func TestWhatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name, mood string
		args       []string // replace the package, and then go test itself runs
		code       int
		flaky      []string // the listed tests, without the package's path
		tried      []string // alone, in this order
		failed     int      // number of listed tests
		red        string
	}{
		{name: "nothing fails"},
		{name: "a test", mood: "A", flaky: []string{".TestA"}, tried: []string{".TestA"}},
		{name: "a subtest", mood: "sub(2", flaky: []string{".TestB/sub(2"}, tried: []string{".TestB/sub(2"}},
		{
			name: "as many as may be", mood: "A C sub", flaky: []string{".TestA", ".TestB/sub_one", ".TestC"},
			tried: []string{".TestA", ".TestB/sub_one", ".TestC"},
		},
		{
			name: "one too many", mood: "A C sub sub(2", code: 1, failed: 4,
			red: "4 failed and 0 were flaky before; more than 3",
		},
		{
			name: "twice red", mood: "always-A C", code: 1, failed: 1, flaky: []string{".TestC"},
			tried: []string{".TestA", ".TestC"}, red: "failed twice:\n  " + moody + ".TestA\n",
		},
		{name: "a panic", mood: "panic", flaky: []string{""}, tried: []string{""}},
		{
			name: "always a panic", mood: "always-panic", code: 1, failed: 1, tried: []string{""},
			red: "failed twice:\n  " + moody + "\n",
		},
		{name: "no test", mood: "main", flaky: []string{""}, tried: []string{""}},
		{
			name: "always, and no test", mood: "always-main", code: 1, failed: 1, tried: []string{""},
			red: "failed twice:\n  " + moody + "\n",
		},
		{
			name: "a test that was chosen", mood: "A", args: []string{"./testdata/moody", "-run", "A|C", "-count=2"},
			flaky: []string{".TestA"}, tried: []string{".TestA"},
		},
		{
			name: "no such flag", args: []string{"./testdata/moody", "-flag-that-is-not"}, code: 1, failed: 1,
			tried: []string{""}, red: moody,
		},
		{name: "no such package", args: []string{"./testdata/nowhere"}, code: 1, failed: 1, red: "nowhere"},
		{
			name: "cannot be built", args: []string{"./testdata/broken", "./testdata/moody"}, mood: "A", code: 1,
			failed: 1, red: "cannot be built, or has a data race:\n" +
				"  github.com/condor-backfill/condor-backfill/integration/retry-tests/testdata/broken\n",
			flaky: []string{".TestA"}, tried: []string{".TestA"},
		},
		{name: "a data race", mood: "race", code: 1, failed: 1, red: "has a data race:\n  " + moody + ".TestC\n"},
		{name: "wrong call", args: []string{"-most", "3"}, code: 2, red: "usage: retry"},
		{name: "wrong flag", args: []string{"-mostly"}, code: 2, red: "usage: retry"},
		{name: "help", args: []string{"-h"}, red: "example:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			logs := t.TempDir()
			var code int
			var out, errs string
			if c.args == nil {
				code, out, errs = call(t, c.mood, logs, "./testdata/moody")
			} else {
				code, out, errs = callBy(t, goTest, c.mood, logs, c.args...)
			}
			require.Equal(t, c.code, code, "%s\n%s", out, errs)
			require.Contains(t, errs, c.red)
			require.NotContains(t, out, "D runs", "of what passed nothing is shown")

			var tried, flaky []string
			for _, found := range regexp.MustCompile(`(?m)^once more, alone: (.*)$`).FindAllStringSubmatch(out, -1) {
				tried = append(tried, strings.TrimPrefix(found[1], moody))
			}
			require.Equal(t, c.tried, tried)
			for _, found := range regexp.MustCompile(`(?m)^flaky: (.*) \(its `+
				`output in (.*)\)$`).FindAllStringSubmatch(out, -1) {
				flaky = append(flaky, strings.TrimPrefix(found[1], moody))
				kept, err := os.ReadFile(found[2])
				require.NoError(t, err)
				require.Regexp(t, "lost a race|hit the ceiling|left behind", string(kept))
			}
			require.Equal(t, c.flaky, flaky)
			list, _ := os.ReadFile(filepath.Join(logs, "flaky"))
			require.Equal(t, len(c.flaky), strings.Count(string(list), "flaky: "+moody))
			list, _ = os.ReadFile(filepath.Join(logs, "failed"))
			require.Equal(t, c.failed, strings.Count(string(list), "\n"), "%s", list)
		})
	}
}

// TestOnlyItIsTriedAgain checks what ran the second time.
func TestOnlyItIsTriedAgain(t *testing.T) {
	_, out, _ := call(t, "always-sub", t.TempDir(), "./testdata/moody")
	_, second, _ := strings.Cut(out, "once more, alone")
	require.Contains(t, second, "TestB/sub_one")
	require.NotContains(t, second, "TestB/sub(2")
	require.NotContains(t, second, "TestA")
}

func TestCallsCountTogether(t *testing.T) {
	logs := t.TempDir()
	for range 2 {
		code, out, errs := call(t, "A", logs, "-most", "2", "./testdata/moody", "-count=1")
		require.Equal(t, 0, code, "%s\n%s", out, errs)
	}
	code, out, errs := call(t, "A", logs, "-most", "2", "./testdata/moody", "-count=1")
	require.Equal(t, 1, code, "%s\n%s", out, errs)
	require.Contains(t, errs, "1 failed and 2 were flaky before")
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	r := runner{out: &out, errs: &errs, command: goTest}
	require.Equal(t, 130, r.run(ctx, []string{"-logs", t.TempDir(), "./testdata/moody"}))
}

func TestSlowest(t *testing.T) {
	code, out, _ := call(t, "", t.TempDir(), "-slowest", "2", "./testdata/moody")
	require.Equal(t, 0, code)
	require.Len(t, regexp.MustCompile(`(?m)^ +\d+\.\d\d s  `+regexp.QuoteMeta(moody)+`\.Test[A-D]$`).FindAllString(out,
		-1), 2, out)
}

// TestPackageThatNeverEnds reads the output of a go test that was killed.
func TestPackageThatNeverEnds(t *testing.T) {
	var out bytes.Buffer
	tally := newTally(&out)
	require.NoError(t, tally.read(strings.NewReader(`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestX"}
{"Action":"output","Package":"p","Test":"TestX","Output":"it began\n"}
not a line of JSON`)))
	require.Equal(t, []string{"p"}, names(tally.failures))
	require.Equal(t, "not a line of JSONit began\n", out.String())
}
