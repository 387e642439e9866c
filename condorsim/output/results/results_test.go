package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// key returns the key of a trace's cell.
func key(trace, scheduler string) Key {
	return Key{
		ID: trace + "," + scheduler, Inputs: "in", Trace: trace, Scheduler: scheduler, Policy: scheduler, Order: "fcfs",
		Load: 1, EstimateModel: "given", Seed: 1<<64 - 1,
	}
}

func sample() (Manifest, []Cell) {
	a, b := key("a", "easy"), key("a", "mine")
	b.Options = map[string]string{"y": "2", "depth": "4"}
	b.Load, b.Estimates = 0.7, &Estimates{
		All: "combined", Running: "mix:0.5",
		Options: map[string]string{"threshold": "20"},
	}
	m := Manifest{
		Name: "s", Title: "T", Baseline: "easy", Version: "v1", Cells: []Key{a, b},
		Skipped: []string{"trace z"},
	}
	return m, []Cell{
		{
			Key: a, Jobs: 3, Machine: Machine{1, 8, 0},
			Metrics: map[string]float64{"cycles": 12, "mean_wait": 1.0 / 3, "makespan": 1e15},
		},
		{
			Key: b, Jobs: 3, Held: 1, Machine: Machine{2, 8, 64},
			Metrics: map[string]float64{"mean_wait": 0, "strict_unfairness": 1e-7},
		},
	}
}

func open(t *testing.T, path string) *Writer {
	t.Helper()
	w, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er")
	w := open(t, path)
	m, cells := sample()
	require.NoError(t, w.Manifest(m))
	f, err := Read(path)
	require.NoError(t, err)
	require.Empty(t, f.Cells)
	require.False(t, f.Complete())
	require.Equal(t, []Key(m.Cells), f.Missing())

	require.NoError(t, w.Cell(cells[1]))
	f, err = w.Tables()
	require.NoError(t, err)
	require.Equal(t, []Cell{cells[1]}, f.Cells)
	require.Equal(t, []Key(m.Cells[:1]), f.Missing())
	require.FileExists(t, filepath.Join(path, "results-incomplete.csv"))
	require.NoFileExists(t, filepath.Join(path, "results.csv"))

	require.NoError(t, w.Cell(cells[0]))
	f, err = w.Tables()
	require.NoError(t, err)
	require.True(t, f.Complete())
	require.Empty(t, f.Missing())
	require.Equal(t, cells, f.Cells, "in the order of the manifest")
	require.Equal(t, Format, f.Manifest.Format)
	for _, extension := range []string{".csv", ".json", ".parquet"} {
		require.FileExists(t, filepath.Join(path, "results"+extension))
		require.NoFileExists(t, filepath.Join(path, "results-incomplete"+extension))
	}

	m.Cells[0].Inputs = "other"
	require.NoError(t, w.Manifest(m))
	require.NoFileExists(t, filepath.Join(path, "results.csv"), "the tables were of something else")
	f, err = Read(path)
	require.NoError(t, err)
	require.Equal(t, cells[1:], f.Cells, "the other one was made from other inputs")
	_, err = ReadCell(path, m.Cells[0])
	require.ErrorIs(t, err, ErrOtherInputs)

	require.NoError(t, w.Remove(m.Cells...))
	_, err = ReadCell(path, m.Cells[1])
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadRefuses(t *testing.T) {
	path := t.TempDir()
	_, err := Read(path)
	require.ErrorContains(t, err, "is no folder of results")
	w := open(t, path)
	m, cells := sample()
	require.NoError(t, w.Manifest(m))
	require.NoError(t, w.Cell(cells[0]))
	text, err := os.ReadFile(CellPath(path, m.Cells[0].ID))
	require.NoError(t, err)
	for _, damaged := range [][]byte{{}, text[:len(text)/2], append(slices.Clone(text), '}'), []byte("null and void")} {
		require.NoError(t, os.WriteFile(CellPath(path, m.Cells[0].ID), damaged, 0o600))
		_, err = Read(path)
		require.ErrorContains(t, err, "delete the file and sweep again", "%q", damaged)
		_, err = ReadCell(path, m.Cells[0])
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrOtherInputs)
	}
	require.NoError(t, w.Cell(cells[1]))
	require.NoError(t, os.Rename(CellPath(path, m.Cells[1].ID), CellPath(path, m.Cells[0].ID)))
	_, err = Read(path)
	require.ErrorContains(t, err, `it holds the cell "a,mine", under a wrong name; delete the file and sweep again`)
	require.NoError(t, os.WriteFile(filepath.Join(path, "sweep.json"), []byte(`{"format": 7}`), 0o600))
	_, err = Read(path)
	require.ErrorContains(t, err, "has format 7, this program reads 2")
}

// A file that is too large in memory, or names other files than a cell's, is not read.
func TestReadIsBounded(t *testing.T) {
	path := t.TempDir()
	for cells, says := range map[string]string{
		strings.Repeat("{},", MaxCells) + "{}": "it has more than 100000 cells",
		strings.Repeat("0,", maxValues) + "0":  "has more than 2000000 values",
		`{"id": "a"}, {"id": "a"}`:             `the cell "a" is there twice`,
		`{"id": "../a"}`:                       `"../a" cannot be the name of a cell's file`,
		`{"id": ""}`:                           `"" cannot be the name of a cell's file`,
		`7`:                                    "a number is given where an object is expected",
	} {
		text := fmt.Sprintf(`{"format": %d, "cells": [%s]}`, Format, cells)
		require.NoError(t, os.WriteFile(filepath.Join(path, "sweep.json"), []byte(text), 0o600))
		_, err := Read(path)
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, os.WriteFile(filepath.Join(path, "sweep.json"), []byte(`{"cells": 7}`), 0o600))
	_, err := Read(path)
	require.ErrorContains(t, err, "cells must be a list")
}

// A folder has only one writer at a time, in any process.
func TestLock(t *testing.T) {
	path := t.TempDir()
	w, err := Open(path)
	require.NoError(t, err)
	_, err = Open(path)
	require.ErrorContains(t, err, "another sweep is writing its results there")
	require.NoError(t, w.Close())
	w, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

func TestOpenRefusesWhatIsNoFolderOfResults(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "thesis.tex"), nil, 0o600))
	_, err := Open(path)
	require.ErrorContains(t, err, "there is thesis.tex in it")
	_, err = Open(filepath.Join(path, "thesis.tex"))
	require.Error(t, err)
	_, err = Open(filepath.Join(path, "thesis.tex", "below"))
	require.Error(t, err)
}

// What a killed process left is removed, and did not disturb before.
func TestLeftOvers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd[1]*")
	require.NoError(t, os.MkdirAll(path, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(path, ".writing-0"), []byte("{"), 0o600), "of the first manifest")
	w, err := Open(path)
	require.NoError(t, err)
	m, _ := sample()
	require.NoError(t, w.Manifest(m))
	require.NoError(t, w.Close())
	left := []string{
		filepath.Join(path, ".writing-0"), filepath.Join(path, ".writing-1"),
		filepath.Join(path, "cells", ".writing-2"),
	}
	for _, name := range left {
		require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	}
	w = open(t, path)
	for _, name := range left {
		require.NoFileExists(t, name)
	}
	require.NoError(t, w.Cell(Cell{Key: m.Cells[0]}))
	require.NoError(t, w.Remove(m.Cells...))
	require.NoFileExists(t, CellPath(path, m.Cells[0].ID))
}

func folder() *Folder {
	m, cells := sample()
	return &Folder{Manifest: m, Cells: cells}
}

func TestNamesThatAreFormulas(t *testing.T) {
	f := folder()
	f.Cells[0].Trace = "=1+1"
	require.Contains(t, written(t, f), "\n'=1+1,easy,")
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, WriteCSV(&out, folder()))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{
			"trace", "scheduler", "policy", "order", "options", "estimates", "load", "estimate_model", "seed", "jobs",
			"held", "estimates_unknown", "estimates_raised",
			"slots", "cpus", "memory", "mean_wait", "makespan", "cycles", "strict_unfairness",
		},
		{
			"a", "easy", "easy", "fcfs", "", "", "1", "given", "18446744073709551615", "3", "0", "0", "0", "1", "8", "0",
			"0.3333333333333333", "1000000000000000", "12", "",
		},
		{
			"a", "mine", "mine", "fcfs", "depth=4 y=2", "combined running=mix:0.5 threshold=20", "0.7", "given",
			"18446744073709551615", "3", "1", "0", "0", "2", "8", "64", "0", "", "", "0.0000001",
		},
	}, rows)
}

// The half widths come last, of means that have them.
func TestHalfWidths(t *testing.T) {
	f := folder()
	require.NotContains(t, written(t, f), "half_width", "older results have no weeks")
	f.Cells[0].Weeks = metrics.Weeks{{Jobs: 1}, {Week: 1, Jobs: 1}, {Week: 2, Jobs: 1}, {Week: 5, Jobs: 1, Wait: 4}}
	text := written(t, f)
	require.Contains(t, text, ",strict_unfairness,mean_wait_half_width\n")
	require.Contains(t, text, ",12,,3.182446")
	require.Contains(t, text, ",0.0000001,\n")
}

func written(t *testing.T, f *Folder) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, WriteCSV(&out, f))
	return out.String()
}

func TestJSON(t *testing.T) {
	f := folder()
	f.Cells = f.Cells[1:]
	var out bytes.Buffer
	require.NoError(t, WriteJSON(&out, f))
	var table struct {
		Name, Version string
		Complete      bool
		Missing       []string
		Skipped       []string
		Rows          []map[string]any
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &table))
	require.Equal(t, "s", table.Name)
	require.False(t, table.Complete)
	require.Equal(t, []string{"a,easy"}, table.Missing)
	require.Equal(t, []string{"trace z"}, table.Skipped)
	require.Len(t, table.Rows, 1)
	require.Equal(t, "mine", table.Rows[0]["scheduler"])
	require.InDelta(t, 1e-7, table.Rows[0]["strict_unfairness"], 0)
}

// Parquet and CSV have the same values, column by column.
func TestParquet(t *testing.T) {
	f := folder()
	var text, packed bytes.Buffer
	require.NoError(t, WriteCSV(&text, f))
	want, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)
	require.NoError(t, WriteParquet(&packed, f))

	file, err := parquet.OpenFile(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	require.NoError(t, err)
	var names []string
	for _, field := range file.Schema().Fields() {
		names = append(names, field.Name())
	}
	require.Equal(t, want[0], names)
	rows := make([]parquet.Row, 3)
	n := 0
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		read, err := reader.ReadRows(rows[n:])
		require.True(t, err == nil || errors.Is(err, io.EOF), "%v", err)
		n += read
		require.NoError(t, reader.Close())
	}
	require.Equal(t, len(f.Cells), n)
	for i, row := range rows[:n] {
		require.Len(t, row, len(names))
		for c, v := range row {
			got := ""
			switch {
			case v.IsNull():
			case v.Kind() == parquet.Double:
				got = strconv.FormatFloat(v.Double(), 'f', -1, 64)
			case names[c] == "seed":
				got = strconv.FormatUint(uint64(v.Int64()), 10)
			default:
				got = v.String()
			}
			require.Equal(t, want[i+1][c], got, names[c])
		}
	}
}

// Tables without a finished cell are no error.
func TestEmptyTables(t *testing.T) {
	f := &Folder{Manifest: Manifest{Name: "s"}}
	for _, format := range formats() {
		require.NoError(t, format.write(io.Discard, f), format.extension)
	}
}

// A cell of another process is read and kept byte by byte. What is damaged, or of another simulation, is not.
func TestTakenCells(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	w, err := Open(dir)
	require.NoError(t, err)
	defer w.Close() //nolint:errcheck // a test's
	cell := Cell{
		Key: Key{ID: "a,easy", Inputs: "1", Options: map[string]string{"x": "<ü\x1b>"}}, Jobs: 3,
		Metrics: map[string]float64{"mean_wait": 1.0 / 3},
	}
	var text bytes.Buffer
	require.NoError(t, cell.Encode(&text))
	take := func(text string, key Key) error {
		taken, takeErr := Decode("cell.json", []byte(text), key)
		if takeErr == nil {
			require.NoError(t, w.Cell(taken))
		}
		return takeErr
	}
	for n := range text.Len() - 1 {
		require.Error(t, take(text.String()[:n], cell.Key))
	}
	require.ErrorContains(t, take(strings.Replace(text.String(), `"jobs"`, `"Jobs"`, 1), cell.Key), "not as this program")
	require.ErrorIs(t, take(text.String(), Key{ID: "a,easy", Inputs: "2"}), ErrOtherInputs)
	require.ErrorContains(t, take(text.String(), Key{ID: "b,easy", Inputs: "1"}), "under a wrong name")
	require.NoFileExists(t, CellPath(dir, "a,easy"))
	require.NoError(t, take(text.String(), cell.Key))
	kept, err := os.ReadFile(CellPath(dir, "a,easy"))
	require.NoError(t, err)
	require.Equal(t, text.String(), string(kept))
}
