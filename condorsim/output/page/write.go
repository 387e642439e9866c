package page

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// Output says where to write a report.
type Output struct {
	// Page is the HTML file, created beforehand so that a wrong path is reported early.
	Page *wholefile.File
	// Charts and Tables are folders, which are made if needed; "" for none. Formats are the kinds
	// of files of each chart: svg, png.
	Charts, Tables string
	Formats        []string
	// Progress, if not nil, is called with the number of finished files and of all files.
	Progress func(done, total int64)
}

// Written counts the files other than the page.
type Written struct{ Charts, Tables int }

// Write writes the report. Each file is there whole, or unchanged.
func (s *Study) Write(o Output) (Written, error) {
	var made Written
	var files []func() error
	file := func(what, path string, write func(io.Writer) error) {
		files = append(files, func() error { return wholefile.WriteInside(what, path, write) })
	}
	if o.Tables != "" {
		if err := wholefile.MakeFolder(o.Tables); err != nil {
			return made, fmt.Errorf("make a folder for the tables: %w", err)
		}
		for _, t := range s.Tables() {
			made.Tables++
			file("a table", filepath.Join(o.Tables, t.Name+".csv"), t.CSV)
		}
		for _, t := range s.relatives() { // for READMEs
			file("a table", filepath.Join(o.Tables, t.Name+".md"), t.Markdown)
		}
	}
	if o.Charts != "" && len(o.Formats) > 0 {
		if err := wholefile.MakeFolder(o.Charts); err != nil {
			return made, fmt.Errorf("make a folder for the charts: %w", err)
		}
		for _, f := range s.Figures(chart.Paper).All() {
			path := filepath.Join(o.Charts, f.Name)
			if slices.Contains(o.Formats, "svg") {
				made.Charts++
				file("a chart", path+".svg", f.WriteSVG)
			}
			if slices.Contains(o.Formats, "png") {
				made.Charts++
				file("a chart", path+".png", f.WritePNG)
			}
		}
	}
	err := inParallel(files, func(done int) {
		if o.Progress != nil {
			o.Progress(int64(done), int64(len(files)+1))
		}
	})
	if err != nil {
		return made, err
	}
	// The page comes last: if it is there, all files are.
	return made, o.Page.Fill(func(out io.Writer) error { return s.HTML(out, s.Figures(chart.Page)) })
}

// inParallel runs independent tasks on all cores and returns the errors in the order of the tasks.
// It calls the callback progress, one call at a time, with the number of finished tasks.
func inParallel(tasks []func() error, progress func(done int)) error {
	errs := make([]error, len(tasks))
	var next, done atomic.Int64
	var workers sync.WaitGroup
	var telling sync.Mutex
	for range min(runtime.GOMAXPROCS(0), len(tasks)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) {
					return
				}
				errs[i] = tasks[i]()
				telling.Lock()
				progress(int(done.Add(1)))
				telling.Unlock()
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}
