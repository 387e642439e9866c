package condorsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Violation is something that a simulation did and no simulation may do: an
// internal error.
type Violation struct {
	At      backfill.Time
	Job     string // its name; "": no job in particular
	Problem string

	w        *Workload
	from, to int // the jobs that had to do with it
}

// Error says when, who and what.
func (v *Violation) Error() string {
	job := ""
	if v.Job != "" {
		job = ", job " + v.Job
	}
	return fmt.Sprintf("internal error at %d%s: %s", v.At, job, v.Problem)
}

// Save writes the case to a file in a folder, as an instance that condorsim run
// --instance reads: the jobs up to the instant, from the last one at which
// nothing waited or ran. The labels of jobs are not in it, nor are the slots of a
// pool. The file is there whole or not at all.
func (v *Violation) Save(dir string) (path string, err error) {
	text, err := v.instance()
	if err != nil {
		return "", fmt.Errorf("describe the case: %w", err)
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '-'
		}
		return r
	}, v.w.Name)
	path = filepath.Join(dir, fmt.Sprintf("condorsim-error-%s-at-%d.json", name, v.At))
	file, err := os.CreateTemp(dir, ".condorsim-error-*")
	if err != nil {
		return "", fmt.Errorf("save the case: %w", err)
	}
	_, err = file.Write(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // nothing better can be done
		return "", fmt.Errorf("save the case: %w", err)
	}
	return path, nil
}

// caseJob is a job as instances list them.
type caseJob struct {
	ID       int64 `json:"id"`
	Submit   int64 `json:"submit"`
	Run      int64 `json:"run"`
	Estimate int64 `json:"estimate"`
	Procs    int64 `json:"procs"`
	Memory   int64 `json:"memory"`
}

// instance is the case as JSON, a line for each job.
func (v *Violation) instance() ([]byte, error) {
	var text bytes.Buffer
	name, err := json.Marshal(fmt.Sprintf("%s at %d", v.w.Name, v.At))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&text, "{\n \"name\": %s,\n \"processors\": %d,\n \"memory\": %d,\n \"jobs\": [", name, v.w.Capacity()[0], v.w.Memory())
	ids := v.ids()
	for i, j := range v.w.Jobs[v.from:v.to] {
		row, err := json.Marshal(caseJob{
			ID: ids[i], Submit: int64(j.Submit), Run: int64(j.runs()),
			Estimate: int64(max(j.Estimate, j.runs(), 1)), Procs: j.Cpus, Memory: j.Memory,
		})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString("\n  ")
		text.Write(row)
	}
	text.WriteString("\n ]\n}\n")
	return text.Bytes(), nil
}

// ids are the jobs' own numbers, as in a trace, or if they have none, numbers
// from 1.
func (v *Violation) ids() []int64 {
	ids := make([]int64, v.to-v.from)
	for i, j := range v.w.Jobs[v.from:v.to] {
		id, err := strconv.ParseInt(j.Name, 10, 64)
		if err != nil {
			for i := range ids {
				ids[i] = int64(i + 1)
			}
			return ids
		}
		ids[i] = id
	}
	return ids
}
