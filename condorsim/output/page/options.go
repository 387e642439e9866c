package page

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// varied are schedulers that differ only in one option of their policy, whose values are numbers.
type varied struct {
	base, option string
	at           map[int]float64 // the option's value, by index in Study.Schedulers
}

// varied finds the first schedulers that differ only in one numeric option; nil if there are none.
func (s *Study) varied() *varied {
	found := map[[2]string]*varied{}
	for _, k := range s.Folder.Manifest.Cells {
		for _, option := range slices.Sorted(maps.Keys(k.Options)) {
			value, err := strconv.ParseFloat(k.Options[option], 64)
			if err != nil {
				continue
			}
			base := withoutOption(k, option)
			v := found[[2]string{base, option}]
			if v == nil {
				v = &varied{base: base, option: option, at: map[int]float64{}}
				found[[2]string{base, option}] = v
			}
			v.at[slices.Index(s.Schedulers, k.Scheduler)] = value
			if len(v.at) > 1 {
				v.complete(s)
				return v
			}
		}
	}
	return nil
}

// complete finds all schedulers that differ only in the option.
func (v *varied) complete(s *Study) {
	for _, k := range s.Folder.Manifest.Cells {
		value, err := strconv.ParseFloat(k.Options[v.option], 64)
		if err == nil && withoutOption(k, v.option) == v.base {
			v.at[slices.Index(s.Schedulers, k.Scheduler)] = value
		}
	}
}

// withoutOption describes a scheduler without one of its policy's options.
func withoutOption(k results.Key, option string) string {
	k.Options = maps.Clone(k.Options)
	delete(k.Options, option)
	if k.Estimates != nil {
		return baseOf(k) + " " + k.Estimator()
	}
	return baseOf(k)
}

// overOption draws a measure over the option that schedulers differ in, with a panel for each group
// and a level line for each other scheduler; nil if no option varies.
func (s sketch) overOption(m Measure) *chart.Figure {
	v := s.option
	if v == nil {
		return nil
	}
	l := chart.Lined{
		Name: "option-" + fileName(m.Name), Title: m.Label + " over " + v.option, Note: s.partial(), Width: s.width,
		Scope: "option", Series: []string{v.base}, PerRow: 2, Height: 230,
		Alt: "A curve over the option, and a level line for each other scheduler; a panel for each trace. The table " +
			"below has the numbers.",
	}
	for j, name := range s.Schedulers {
		if _, varies := v.at[j]; !varies {
			l.Series = append(l.Series, name)
		}
	}
	for i := range s.Groups {
		if p, ok := s.overOptions(m, i); ok {
			l.Panels = append(l.Panels, p)
		}
	}
	if len(l.Panels) == 0 {
		return nil
	}
	return chart.Lines(l)
}

// overOptions returns the panel for a group; false if there are not two values to draw.
func (s sketch) overOptions(m Measure, group int) (p chart.Panel, ok bool) {
	values := slices.Compact(slices.Sorted(maps.Values(s.option.at)))
	first, last := values[0], values[len(values)-1]
	p = chart.Panel{
		Title: s.Groups[group].Label, AcrossIs: s.option.option, UpIs: m.upIs(), Dots: true,
		Across: chart.Axis{Min: first, Max: last, At: values}, Curves: make([][]chart.Point, 1),
	}
	if first >= 0 && last >= 10 { // such values are usually powers
		p.Across.Kind, p.Across.Min = chart.Log, 0
	}
	low, high := 0.0, 0.0
	for j := range s.Schedulers {
		at, varies := s.option.at[j]
		up := s.value(m, group, j)
		if !varies {
			p.Curves = append(p.Curves, nil)
		}
		if math.IsNaN(up) {
			continue
		}
		low, high = min(low, up), max(high, up)
		if varies {
			p.Curves[0] = append(p.Curves[0], chart.Point{Across: at, Up: up})
		} else {
			p.Curves[len(p.Curves)-1] = []chart.Point{{Across: p.Across.Min, Up: up}, {Across: last, Up: up}}
		}
	}
	slices.SortFunc(p.Curves[0], byAcross)
	p.Up = chart.NewAxis(chart.Linear, m.Unit, low, high)
	return p, len(values) > 1 && len(p.Curves[0]) > 1
}
