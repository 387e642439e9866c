package pages_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/pages"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

const hostile = `</script><img src=x onerror=alert(1)>"'&`

// schedule makes up what became of n jobs, of which a share waits less by some factor.
func schedule(name string, n int, factor float64, user string) *schedules.Schedule {
	random, s, submit := rand.New(rand.NewPCG(7, 7)), &schedules.Schedule{Name: name}, int64(0)
	for i := range n {
		submit += random.Int64N(7200)
		wait, run := int64(random.ExpFloat64()*random.ExpFloat64()*9000*float64(random.IntN(2))), 1+random.Int64N(9000)
		if random.IntN(3) > 0 {
			wait = int64(float64(wait) * factor)
		}
		s.Rows = append(s.Rows, schedules.Row{
			Job: strconv.Itoa(i) + user, Submit: submit, Start: submit + wait, End: submit + wait + run, Started: true, Ended: true, Run: run,
			Estimate: 2 * run, Cpus: 1 + random.Int64N(40), User: fmt.Sprint(user, random.IntN(12)),
		})
	}
	return s
}

// compared makes up comparisons of a with some others.
func compared(tb testing.TB, a *schedules.Schedule, others ...*schedules.Schedule) *pages.Page {
	tb.Helper()
	p := &pages.Page{Command: "condorsim compare a b", Version: "v0.0.0"}
	for _, b := range others {
		c, err := compare.Jobs(a, b, compare.Options{Cpus: 200})
		require.NoError(tb, err)
		p.Jobs = append(p.Jobs, c)
	}
	return p
}

func html(tb testing.TB, p *pages.Page) string {
	tb.Helper()
	var out strings.Builder
	require.NoError(tb, p.HTML(&out))
	return out.String()
}

func TestPage(t *testing.T) {
	p := compared(t, schedule("x/easy.csv", 500, 1, "u"), schedule("y/slack.parquet", 500, 0.5, "u"), schedule("dc.csv.gz", 500, 1.5, "u"))
	text := html(t, p)
	require.Contains(t, text, "<title>slack, dc against easy</title>")
	require.Equal(t, 2, strings.Count(text, `class="card dots"`))
	require.Equal(t, 3, strings.Count(text, "<svg"), "the differences of all together, and two of each share")
	require.Equal(t, text, html(t, p), "the same input gives the same page")
	require.Less(t, len(text), 1<<20)
}

// Names are other people's texts: they cannot become a part of the page.
func TestHostileNames(t *testing.T) {
	a, b := schedule(hostile+".csv", 50, 1, hostile), schedule("b.csv", 50, 0.5, hostile)
	p := compared(t, a, b)
	p.Notes, p.Command = []string{hostile}, hostile
	text := html(t, p)
	require.NotContains(t, text, "<img")
	require.Equal(t, 1, strings.Count(text, "<main>"))
	require.Contains(t, text, "&lt;img")
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal((&pages.Page{}).JSON())
	require.NoError(t, err)
	require.JSONEq(t, `{"jobs": [], "cells": [], "notes": [], "command": "", "version": ""}`, string(text))
	text, err = json.Marshal(compared(t, schedule("a", 9, 1, ""), schedule("b", 9, 2, "")).JSON())
	require.NoError(t, err)
	require.NotContains(t, string(text), "Shapes")
	require.Contains(t, string(text), `"shorter_waits":0`)
}

// A verdict says how far it is to be trusted.
func TestWords(t *testing.T) {
	words := func(n int, factor float64) string {
		s := compared(t, schedule("easy.csv", n, 1, ""), schedule("slack.csv", n, factor, "")).Sections()[0]
		return strings.Join(s.Sentences, "\n")
	}
	require.Regexp(t, `The mean wait is \d\.\d\d h instead of \d\.\d\d h: \d\.\d\d ± \d\.\d\d h shorter under slack `+
		`\(95 %, \d+ weeks\)\.`, words(1500, 0.5))
	require.Contains(t, words(20, 2), "Whether that is chance is not known, as the jobs came in fewer than four weeks.")
	require.Regexp(t, `^1,500 jobs ran in both\. Under slack, 0 of them \(0\.0 %\) wait shorter, 0 \(0\.0 %\) longer, and 1,500 as long\.\n`+
		`The mean wait is .* in both\.\nAll jobs start at the same instants in both\.$`, words(1500, 1))
	p := compared(t, schedule("easy.csv", 900, 1, ""), schedule("slack.csv", 900, 0.99, ""))
	wait := &p.Jobs[0].Measures[0]
	wait.HalfWidth = new(1e6)
	require.Contains(t, p.Sections()[0].Sentences[1], "so easy and slack may differ by chance alone (95 %")
	require.Equal(t, intervals.Weeks, wait.Sample)
}

// Cells have measures alone.
func TestCells(t *testing.T) {
	var cells [2][]results.Cell
	for side, wait := range []float64{10, 12} {
		for seed := range uint64(4) {
			cells[side] = append(cells[side], results.Cell{
				Key:  results.Key{ID: "c", Trace: hostile, Scheduler: "easy", Load: 1.2, EstimateModel: "given", Seed: seed},
				Jobs: 9, Metrics: map[string]float64{"mean_wait": wait + float64(seed*uint64(side)), "utilisation": 0.5},
			})
		}
	}
	c, err := compare.OfCells(cells[0], cells[1], "before/", "after/")
	require.NoError(t, err)
	p := &pages.Page{Cells: []*compare.Cells{c}}
	s := p.Sections()[0]
	require.Equal(t, "after against before", s.Title)
	require.Equal(t, []string{"1 simulation is in both."}, s.Sentences)
	require.Len(t, s.Tables, 2, "what has no values is left out")
	var row []string
	for _, v := range s.Tables[0].Rows[0] {
		row = append(row, v.Cell())
	}
	require.Equal(t, []string{hostile + " load 1.2", "easy", "easy", "s", "10.0", "13.5", "+3.5 ± 2.1 ✱", "+35.0"}, row)
	text := html(t, p)
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, "<canvas")
	require.Contains(t, text, "13.5")
}

// Two files of the same name are told apart by their folders.
func TestSidesOfTheSameName(t *testing.T) {
	for _, names := range [][3]string{
		{"x/easy.csv", "y/easy.csv", "y/easy.csv against x/easy.csv"},
		{"easy.csv", "easy.parquet", "easy.parquet against easy.csv"},
		{"x/easy.csv", "slack.csv.zst", "slack against easy"},
	} {
		p := compared(t, schedule(names[0], 9, 1, ""), schedule(names[1], 9, 1, ""))
		require.Equal(t, names[2], p.Sections()[0].Title)
	}
}
