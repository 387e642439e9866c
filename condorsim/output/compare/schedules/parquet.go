package schedules

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// parquetMagic begins every Parquet file.
const parquetMagic = "PAR1"

func isParquet(head []byte) bool { return bytes.HasPrefix(head, []byte(parquetMagic)) }

// readParquet reads a table of Parquet.
func readParquet(f *file, take func(*Row) *fault) (err error) {
	damaged := func(cause any) error {
		return &workload.Error{File: f.name, Problem: fmt.Sprintf("the Parquet file is damaged: %v", cause), Hint: rewrite}
	}
	defer func() { // the library panics at some damage
		if broken := recover(); broken != nil {
			err = damaged(broken)
		}
	}()
	info, err := f.raw.Stat()
	if err != nil {
		return &workload.Error{File: f.name, Problem: "cannot be read: " + err.Error()}
	}
	table, err := parquet.OpenFile(f.raw, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return damaged(err)
	}
	var head []string
	for _, path := range table.Schema().Columns() {
		head = append(head, path[len(path)-1])
	}
	at, err := places(f.name, head)
	if err != nil {
		return err
	}
	ours := make([]int, len(head)) // which of our columns is in a column of the file; −1: none
	for i := range ours {
		ours[i] = -1
	}
	for column, place := range at {
		if place >= 0 {
			ours[place] = column
		}
	}
	number := 0
	for _, group := range table.RowGroups() {
		if err = readGroup(f.name, group, ours, &number, take); err != nil {
			if _, told := errors.AsType[*workload.Error](err); told {
				return err
			}
			return damaged(err)
		}
	}
	return nil
}

// readGroup reads some rows of a file. The number is that of the last row, from 1.
func readGroup(name string, group parquet.RowGroup, columns []int, number *int, take func(*Row) *fault) error {
	rows := group.Rows()
	defer rows.Close() //nolint:errcheck // only read
	some := make([]parquet.Row, 256)
	for {
		n, err := rows.ReadRows(some)
		for _, cells := range some[:n] {
			*number++
			row, wrong := rowOfParquet(cells, columns)
			if wrong == nil {
				wrong = take(&row)
			}
			if wrong != nil {
				return &workload.Error{
					File: name, Problem: fmt.Sprintf("row %d, column %s: %s", *number, wrong.column, wrong.problem), Hint: rewrite,
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// rowOfParquet returns the row of some cells.
func rowOfParquet(cells parquet.Row, columns []int) (row Row, wrong *fault) {
	for _, cell := range cells {
		column := columns[cell.Column()]
		if column < 0 || cell.IsNull() {
			continue
		}
		if texts := column == columnJob || column == columnUser || column == columnHow; texts != (cell.Kind() == parquet.ByteArray) ||
			!texts && cell.Kind() != parquet.Int64 {
			return row, &fault{columnNames[column], "the column has another type than in a table of jobs"}
		}
		switch column {
		case columnJob:
			row.Job = string(cell.ByteArray())
		case columnUser:
			row.User = string(cell.ByteArray())
		case columnHow:
			row.Scavenger = row.Scavenger || string(cell.ByteArray()) == "scavenger"
		case columnScavenger:
			row.Scavenger = row.Scavenger || cell.Int64() == 1
		case columnSubmit:
			row.Submit = cell.Int64()
		case columnStart:
			row.Start, row.Started = cell.Int64(), true
		case columnEnd:
			row.End, row.Ended = cell.Int64(), true
		case columnRun:
			row.Run = cell.Int64()
		case columnCpus:
			row.Cpus = cell.Int64()
		case columnEstimate:
			row.Estimate = cell.Int64()
		}
	}
	return row, nil
}
