package liveview

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim"
)

// TestTheViewFillsTheTerminal: whatever its size and whatever there is to show, no line is too
// long, there are not too many, and what is shown and what is said to be hidden is all that there
// is.
func TestTheViewFillsTheTerminal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var ads strings.Builder
		slots := rapid.IntRange(1, 40).Draw(rt, "slots")
		for i := range slots {
			_, _ = fmt.Fprintf(&ads, "Name = \"slot%d@a-node.with.a.name\"\nCpus = 2\nRequirements = true\n\n", i)
		}
		var jobs []string
		for i := range rapid.IntRange(1, 60).Draw(rt, "jobs") {
			cpus := rapid.SampledFrom([]int{1, 2, 2, 2, 3}).Draw(rt, "cpus")
			jobs = append(jobs, job("1", strconv.Itoa(i), "50", fmt.Sprintf("RequestCpus = %d", cpus),
				`Cmd = "a command 命令"`))
		}
		w := fromAds(rt, ads.String(), jobs...)
		var pictures screens
		v := makeView(&pictures, shown(w))
		width, height := rapid.IntRange(1, 200).Draw(rt, "width"), rapid.IntRange(1, 70).Draw(rt, "height")
		v.size = func() (int, int) { return width, height }
		v.coloured = rapid.Bool().Draw(rt, "coloured")
		v.hint = rapid.SampledFrom([]string{"", keysHint}).Draw(rt, "hint")
		_, err := condorsim.Run(t.Context(), w, link(t), nil, v)
		require.NoError(rt, err)
		for _, picture := range pictures {
			if !v.coloured {
				require.NotRegexp(rt, "\x1b\\[[0-9]*m", picture)
			}
			plain := strings.TrimSuffix(escapes.ReplaceAllString(picture, ""), "\n")
			lines := strings.Split(plain, "\n")
			require.LessOrEqual(rt, len(lines), height)
			for _, line := range lines {
				require.LessOrEqual(rt, text.StringWidthWithoutEscSequences(line), max(1, width-1), "%q", line)
			}
			if width < 100 || height < 20 { // a small one has lines cut off, or no room for all tables
				continue
			}
			waiting, err := strconv.Atoi(counted.FindStringSubmatch(plain)[1])
			require.NoError(rt, err)
			_, tables, _ := strings.Cut(strings.TrimSuffix(plain, v.hint), "\n slot ")
			shown, queue, _ := strings.Cut(tables, "\n waiting ")
			queue, reasons, _ := strings.Cut(queue, "\n\n")
			require.Equal(rt, slots, rows(rt, shown), plain)
			require.Equal(rt, waiting, rows(rt, queue), plain)
			if len(v.held) > 0 {
				require.Equal(rt, len(v.held), rows(rt, "\n"+reasons), plain)
			}
			if hidden.MatchString(plain) {
				require.GreaterOrEqual(rt, len(lines), height-1, "there is room:\n%s", plain)
			}
		}
	})
}

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*[a-zA-Z]")
	hidden  = regexp.MustCompile(`(?m)^ and (\d+) more$`)
	counted = regexp.MustCompile(`(\d+) waiting`)
)

// rows counts the rows of a table behind its header, those included that it says it hides.
func rows(t *rapid.T, table string) (n int) {
	_, body, _ := strings.Cut(table, "\n")
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		more := hidden.FindStringSubmatch(line)
		switch {
		case more != nil:
			count, err := strconv.Atoi(more[1])
			require.NoError(t, err)
			n += count
		case strings.TrimSpace(line) != "":
			n++
		}
	}
	return n
}

// TestShares: nobody gets more than it wants, nothing is left while somebody wants more, and no two
// that want more differ by more than a line.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.IntRange(0, 100).Draw(t, "lines")
		wanted := rapid.SliceOfN(rapid.IntRange(0, 80), 0, 4).Draw(t, "wanted")
		got := shares(lines, wanted...)
		sum, unhappy, least, most := 0, false, 1000, 0
		for i := range wanted {
			require.LessOrEqual(t, got[i], wanted[i])
			sum += got[i]
			if got[i] < wanted[i] {
				unhappy, least, most = true, min(least, got[i]), max(most, got[i])
			}
		}
		require.LessOrEqual(t, sum, lines)
		if unhappy {
			require.Equal(t, lines, sum)
			require.LessOrEqual(t, most-least, 1)
		}
	})
}

func TestNarrowHeads(t *testing.T) {
	require.Equal(t, "one, two\n", inLines(80, ", ", "one", "two"))
	require.Equal(t, "one, two,\nthree\n", inLines(10, ", ", "one", "two", "three"))
	require.Equal(t, "one,\ntwo\n", inLines(1, ", ", "one", "two"))
	require.Equal(t, "\x1b[1mone\x1b[0m, two\n", inLines(8, ", ", "\x1b[1mone\x1b[0m", "two"), "colours take no room")
}

// TestKeys chooses screens, and quits.
func TestKeys(t *testing.T) {
	var seen screens
	w := fourNodes(t)
	v := makeView(&seen, shown(w))
	v.Policy = func(int) string { return "the policy" }
	_, err := condorsim.Run(t.Context(), w, link(t), nil, v)
	require.NoError(t, err)
	schedule := seen[len(seen)-1]
	require.Contains(t, schedule, "npb54 under easy")
	press := func(keys string) (quits int) {
		seen = nil
		v.heed(strings.NewReader(keys), func() { quits++ })
		return quits
	}
	require.Zero(t, press("p"))
	require.Contains(t, seen[0], "the policy")
	require.Zero(t, press("p"))
	require.Equal(t, schedule, seen[0], "back")
	require.Zero(t, press("?p?\x1b[A?"))
	require.Contains(t, seen[0], "q   quit")
	require.Contains(t, seen[1], "the policy")
	require.Contains(t, seen[2], "q   quit")
	require.Equal(t, schedule, seen[3])
	require.Equal(t, 2, press("qxQ"))
	require.Empty(t, seen)
}
