package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the expected files")

// drawn returns one chart of each kind.
func drawn() map[string]*Figure {
	nan := math.NaN()
	return map[string]*Figure{
		"bars": Bars(Grouped{
			Name: "bars", Title: "Improvement <over> easy", Alt: "Bars.", Note: "Partial: 1 of 2.",
			Groups: []string{"KTH-SP2-1996-2", "a & b"}, Series: []string{"easy", "dc", "pc"},
			Values: [][]float64{{0, 0.25, -3.1}, {0, nan, 1.7}}, Tips: [][]string{
				{"", "a \"tip\"\nof two lines", ""},
				{"", "", "more"},
			}, Unit: Percent, Skip: 0, Low: -1, High: 1,
		}),
		"lines": Lines(Lined{
			Name: "lines", Title: "Waits", Series: []string{"easy", "dc"}, PerRow: 2, Height: 100,
			Panels: []Panel{
				{
					Title: "one", Across: NewAxis(Log, Seconds, 0, 1e5), Up: Axis{Unit: Percent, Max: 1},
					AcrossIs: "wait",
					UpIs:     "jobs", Curves: [][]Point{{{0, 0}, {0, 0.5}, {1e5, 1}}, nil},
				},
				{
					Title: "two", Across: Axis{Min: 0.8, Max: 1.2}, Up: NewAxis(Linear, Number, 0, 7),
					Curves: [][]Point{{{0.8, 1}, {1.2, 7}}, {{1, 3}}}, Dots: true,
				},
			},
		}),
		"heat": Heat(Heated{
			Name: "heat", Title: "By class", Rows: []string{"1", "2-4"},
			Columns: []string{"<10m", ">10m"}, RowsAre: "cpus", ColumnsAre: "run time", Unit: Seconds, Maps: []Map{
				{Title: "easy", Values: [][]float64{{0, 100}, {nan, 1e5}}, Tips: [][]string{{"a", "b"}, {"", "d"}}},
			},
		}),
	}
}

func TestDrawings(t *testing.T) {
	for name, figure := range drawn() {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, figure.WriteSVG(&out))
			path := filepath.Join("testdata", name+".svg")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
			wellFormed(t, out.String())
			wellFormed(t, figure.SVG())
			require.NotContains(t, out.String(), "NaN")
		})
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestPictures(t *testing.T) {
	for name, figure := range drawn() {
		var one, two bytes.Buffer
		require.NoError(t, figure.WritePNG(&one))
		require.NoError(t, figure.WritePNG(&two))
		require.Equal(t, one.Bytes(), two.Bytes(), name)
		image, err := png.Decode(&one)
		require.NoError(t, err)
		require.Equal(t, int(math.Round(sharpness*figure.Width)), image.Bounds().Dx())
		require.InDelta(t, sharpness*figure.Height, image.Bounds().Dy(), 1)
		colours := map[color.Color]bool{}
		for x := range image.Bounds().Dx() {
			for y := range image.Bounds().Dy() {
				colours[image.At(x, y)] = true
			}
		}
		require.Greater(t, len(colours), 20, "text and shapes are there")
	}
}

func TestACutBarShowsItsValue(t *testing.T) {
	text := drawn()["bars"].SVG()
	require.Contains(t, text, ">−310 %<")
	require.Contains(t, text, ">170 %<")
	require.NotContains(t, text, ">25 %</text><rect", "others do not")
	require.Contains(t, text, ">–</text>", "what is missing is marked")
}

func TestManySeriesWrap(t *testing.T) {
	g := Grouped{Title: strings.Repeat("long title ", 11), Skip: -1, Low: -1, High: 1, Width: Paper}
	for i := range 30 {
		g.Series = append(g.Series, fmt.Sprint("a long name of a scheduler ", i))
	}
	for i := range 12 {
		g.Groups = append(g.Groups, fmt.Sprint("trace-", i))
		g.Values = append(g.Values, make([]float64, 30))
	}
	f := Bars(g)
	for _, s := range f.shapes {
		switch s := s.(type) {
		case rect:
			require.LessOrEqual(t, s.x+s.w, f.Width)
			require.LessOrEqual(t, s.y+s.h, f.Height)
		case key:
			require.LessOrEqual(t, s.at.x+textWidth(s.name, normal), f.Width)
		case label:
			require.LessOrEqual(t, s.at.y, f.Height)
			if s.anchor == start {
				require.LessOrEqual(t, s.at.x+textWidth(s.text, s.size), f.Width)
			}
		}
	}
}

func TestEmptyCharts(t *testing.T) {
	for _, f := range []*Figure{Bars(Grouped{Skip: none}), Lines(Lined{}), Heat(Heated{})} {
		wellFormed(t, f.SVG())
		require.Positive(t, f.Height)
		require.NoError(t, f.WritePNG(io.Discard))
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Number, 0, "0"},
		{Number, 1234, "1234"},
		{Number, 12345, "12.3 k"},
		{Number, 0.1234, "0.123"},
		{Number, -5, "−5"},
		{Number, 2.5e7, "25 M"},
		{Number, 3e13, "30 T"},
		{Number, 1e-12, "1e-12"},
		{Percent, 0.5, "50 %"},
		{Percent, -0.00126, "−0.126 %"},
		{Percent, 1, "100 %"},
		{Seconds, 0, "0 s"},
		{Seconds, 59, "59 s"},
		{Seconds, 90, "1.5 min"},
		{Seconds, 3600, "1 h"},
		{Seconds, 100000, "1.16 d"},
	} {
		require.Equal(t, c.want, c.unit.Format(c.v))
	}
}

func TestTicks(t *testing.T) {
	texts := func(a Axis, n float64) (all []string) {
		for _, m := range a.marks(n) {
			all = append(all, m.text)
		}
		return all
	}
	require.Equal(t, []string{"0 h", "6 h", "12 h", "18 h", "24 h", "30 h"},
		texts(Axis{Unit: Seconds, Max: 30 * 3600}, 5), "in one unit")
	require.Equal(t, []string{"0 d", "50 d", "100 d"}, texts(Axis{Unit: Seconds, Max: 120 * 86400}, 3))
	require.Equal(t, []string{"0 s", "1 s", "10 s", "1 min", "10 min", "1 h"}, texts(NewAxis(Log, Seconds, 0, 5000), 5))
	require.Equal(t, []string{"−40 %", "−20 %", "0 %", "20 %", "40 %"}, texts(NewAxis(Linear, Percent, -0.4, 0.3), 5))
	require.Equal(t, []string{"0", "1", "10", "100"}, texts(NewAxis(Log, Number, 0, 500), 5))
}

// A greater value is never nearer to the beginning, all values are between the ends, and there are
// few ticks.
func TestAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, unit := Kind(rapid.IntRange(0, 1).Draw(t, "kind")), Unit(rapid.IntRange(0, 2).Draw(t, "unit"))
		low, high := -rapid.Float64Range(0, 1e12).Draw(t, "low"), rapid.Float64Range(1e-6, 1e12).Draw(t, "high")
		if kind == Log {
			low = 0
		}
		a := NewAxis(kind, unit, low, high)
		x, y := rapid.Float64Range(low, high).Draw(t, "x"), rapid.Float64Range(low, high).Draw(t, "y")
		require.LessOrEqual(t, a.place(min(x, y)), a.place(max(x, y)))
		require.GreaterOrEqual(t, a.place(x), 0.0)
		require.LessOrEqual(t, a.place(x), 1.0)
		require.Zero(t, a.place(a.Min))
		require.InDelta(t, 1, a.place(a.Max), 1e-9)
		marks := a.marks(5)
		require.LessOrEqual(t, len(marks), 20)
		require.GreaterOrEqual(t, len(marks), 2)
		for _, m := range marks {
			require.GreaterOrEqual(t, m.at, a.Min-1e-6*(a.Max-a.Min))
			require.LessOrEqual(t, m.at, a.Max+1e-6*(a.Max-a.Min))
		}
	})
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"KTH-SP2-1996-2"}, wrap("KTH-SP2-1996-2", normal, 200, 2))
	require.Equal(t, []string{"KTH-SP2-", "1996-2"}, wrap("KTH-SP2-1996-2", normal, 60, 2))
	require.Equal(t, []string{"a load", "1.2"}, wrap("a load 1.2", normal, 50, 2))
	require.Equal(t, "…", string([]rune(wrap(strings.Repeat("x", 50), normal, 60, 2)[0])[7:]),
		"what is too long is cut off")
}

// Groups that belong together are in one row, and no word below it is cut off.
func TestRowsOfBars(t *testing.T) {
	g := Grouped{Skip: none, Low: -1, High: 1, Series: []string{"a", "b", "c"}, Width: Page}
	g.Over = slices.Concat(slices.Repeat([]string{"easy"}, 9), slices.Repeat([]string{"easy-wfp"}, 11))
	for range g.Over {
		g.Groups, g.Values = append(g.Groups, "requested"), append(g.Values, []float64{0.1, 0.2, 0.3})
	}
	svg := Bars(g).SVG()
	require.Equal(t, 20, strings.Count(svg, ">requested<"))
	require.Equal(t, 1, strings.Count(svg, ">easy<"))
	require.Equal(t, 1, strings.Count(svg, ">easy-wfp<"))
	for _, c := range []struct {
		over   string
		perRow int
		want   [][2]int
	}{
		{"aabbcc", 3, [][2]int{{0, 2}, {2, 4}, {4, 6}}},
		{"aabbcc", 5, [][2]int{{0, 4}, {4, 6}}},
		{"abcdef", 4, [][2]int{{0, 3}, {3, 6}}},
		{"aaaaab", 2, [][2]int{{0, 2}, {2, 4}, {4, 6}}},
		{"", 4, nil},
	} {
		over := strings.Split(c.over, "")
		if c.over == "" {
			over = nil
		}
		require.Equal(t, c.want, Grouped{Groups: over, Over: over}.rows(c.perRow), c.over)
	}
}
