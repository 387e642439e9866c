package spreadsheet_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
)

// row is a row of a table with columns of every kind.
type row struct {
	Name  string   `parquet:"name"`
	Seed  uint64   `parquet:"seed"`
	Jobs  int64    `parquet:"jobs"`
	Start *int64   `parquet:"start"`
	Mean  *float64 `parquet:"mean"`
}

func known[T any](v *T) (zero T, ok bool) {
	if v == nil {
		return zero, false
	}
	return *v, true
}

// The columns are in no alphabetical order.
var columns = []spreadsheet.Column[row]{
	spreadsheet.ColumnOf("seed", func(r row) uint64 { return r.Seed }),
	spreadsheet.ColumnOf("name", func(r row) string { return r.Name }),
	spreadsheet.ColumnOf("jobs", func(r row) int64 { return r.Jobs }),
	spreadsheet.OptionalColumnOf("start", func(r row) (int64, bool) { return known(r.Start) }),
	spreadsheet.OptionalColumnOf("mean", func(r row) (float64, bool) { return known(r.Mean) }),
}

func TestWriteCSV(t *testing.T) {
	rows := []row{
		{"=1+1", math.MaxUint64, -3, new(int64(7)), new(0.1)},
		{"a,b", 0, 0, nil, nil},
	}
	var out strings.Builder
	require.NoError(t, spreadsheet.WriteCSV(&out, columns, slices.Values(rows), spreadsheet.Quote))
	require.Equal(t, "seed,name,jobs,start,mean\n18446744073709551615,'=1+1,-3,7,0.1\n0,\"a,b\",0,,\n", out.String())
}

func TestWriteParquet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			r := row{
				Name: rapid.String().Draw(t, "name"), Seed: rapid.Uint64().Draw(t, "seed"),
				Jobs: rapid.Int64().Draw(t, "jobs"),
			}
			if rapid.Bool().Draw(t, "is known") {
				r.Start, r.Mean = new(rapid.Int64().Draw(t, "start")), new(rapid.Float64().Draw(t, "mean"))
			}
			return r
		}), 1, 20).Draw(t, "rows")
		var file bytes.Buffer
		require.NoError(t, spreadsheet.WriteParquet(&file, columns, slices.Values(rows)))
		got, err := parquet.Read[row](bytes.NewReader(file.Bytes()), int64(file.Len()))
		require.NoError(t, err)
		require.Equal(t, rows, got)
	})
}

type full struct{}

var errFull = errors.New("no room is left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	rows := slices.Values([]row{{Name: "a"}})
	require.ErrorIs(t, spreadsheet.WriteCSV(full{}, columns, rows, spreadsheet.Quote), errFull)
	require.ErrorIs(t, spreadsheet.WriteParquet(full{}, columns, rows), errFull)
}
