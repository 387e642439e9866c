// Package results is the form of finished simulations on disk, which sweeps write and which reports
// and other tools read.
//
// A folder of results holds
//
//	sweep.json           a [Manifest]: what was to be run
//	cells/ID.json        a [Cell] each: one finished simulation
//	results.csv|json|parquet
//	                     a row for each finished cell
//
// A cell is there whole or not at all. A folder with fewer cells than its manifest lists was
// interrupted, and every reader says so.
package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// Manifest says what a folder of results is to hold, and how to make it again.
type Manifest struct {
	// Format is the [Format] that the folder was written in.
	Format int `json:"format"`
	// Name is the name of the sweep; Title and Description are for people.
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Paper names what to compare the results with: the papers guarantees, fairness, ibb and
	// estimates, or slack, this project's own goals; "" for none.
	Paper string `json:"paper,omitempty"`
	// Baseline is the label of the scheduler that others are compared with.
	Baseline string `json:"baseline"`
	// Version is the program's version; Command is the command line that repeats the sweep.
	Version string `json:"version"`
	Command string `json:"command"`
	// File is the text of the sweep's file.
	File   string      `json:"file"`
	Traces []TraceFile `json:"traces"`
	// Cells are the keys of all cells, in their order.
	Cells Keys `json:"cells"`
	// Skipped says what was left out and why, such as a trace that is not there.
	Skipped []string `json:"skipped,omitempty"`
}

// MaxCells bounds the cells of a sweep: each takes a file, and its place in every table.
const MaxCells = 100_000

// Keys are at most [MaxCells] keys.
type Keys []Key

// UnmarshalJSON reads a list of keys. It errs at once where there are too many: in memory each is
// much larger than the two letters that it may have in a file.
func (k *Keys) UnmarshalJSON(text []byte) error {
	list := json.NewDecoder(bytes.NewReader(text))
	if begin, err := list.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("cells must be a list")
	}
	*k = nil
	for list.More() {
		if len(*k) == MaxCells {
			return fmt.Errorf("it has more than %d cells", MaxCells)
		}
		var key Key
		if err := list.Decode(&key); err != nil {
			return err
		}
		*k = append(*k, key)
	}
	return nil
}

// TraceFile says where a trace was read from.
type TraceFile struct {
	Name   string `json:"name"`
	File   string `json:"file"`   // without folder
	SHA256 string `json:"sha256"` // of the file as stored; "" if the trace was generated
}

// Key identifies a cell of a sweep's matrix. Its texts are as in the sweep's file.
type Key struct {
	// ID is the name of the cell's file, made from the fields below.
	ID string `json:"id"`
	// Inputs is a digest of all that the result depends on: the trace's file, how it is read, the
	// machine, the scheduler, and the program. A cell with another digest belongs to another
	// simulation, whatever its name.
	Inputs string `json:"inputs"`
	Trace  string `json:"trace"`
	// Scheduler is the label of policy, order and options together, such as pc-sjf.
	Scheduler     string            `json:"scheduler"`
	Policy        string            `json:"policy"`
	Order         string            `json:"order"`
	Options       map[string]string `json:"options,omitempty"`
	Load          float64           `json:"load"`           // 1: as in the trace
	EstimateModel string            `json:"estimate_model"` // "given": as in the trace
	// Estimates are the estimators, as given; nil: requested times.
	Estimates *Estimates `json:"estimates,omitempty"`
	// Trust says which stated run times count; "": as far as users' records bear them out.
	Trust string `json:"estimate_trust,omitempty"`
	// SlotEnd says which attribute of slots tells the scheduler when they end; "": the usual one.
	SlotEnd string `json:"slot_end,omitempty"`
	// JitterKeys is the share by which the keys of the order were moved, as the seed says; 0: they
	// were not, or the order has no keys for that.
	JitterKeys float64 `json:"jitter_keys,omitempty"`
	Seed       uint64  `json:"seed"`
}

// Estimates name the estimators of a scheduler. All is for the uses that have none of their own.
type Estimates struct {
	All      string            `json:"all,omitempty"`
	Order    string            `json:"order,omitempty"`
	Backfill string            `json:"backfill,omitempty"`
	Running  string            `json:"running,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
}

// String returns one text, such as "combined running=requested threshold=20"; "" for nil.
func (e *Estimates) String() string {
	if e == nil {
		return ""
	}
	var parts []string
	for _, part := range [][2]string{
		{"", e.All},
		{"order=", e.Order},
		{"backfill=", e.Backfill},
		{"running=", e.Running},
		{"", OptionsText(e.Options)},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+part[1])
		}
	}
	return strings.Join(parts, " ")
}

// Cell is one finished simulation.
type Cell struct {
	Key
	Jobs     int               `json:"jobs"`
	Held     int               `json:"held"` // jobs that could never run, left out of the means
	Why      map[string]int    `json:"held_because,omitempty"`
	Machine  Machine           `json:"machine"`
	Cleaning workload.Cleaning `json:"cleaning"`
	// Metrics are by name, as condorsim run --json names them.
	Metrics map[string]float64 `json:"metrics"`
	Series  metrics.Series     `json:"series"`
	// Weeks are what intervals of means are computed from; older results have none.
	Weeks metrics.Weeks `json:"weeks,omitempty"`
	// Users are sorted by name; nil unless the sweep asks for them. Unknown users are left out.
	Users []User `json:"users,omitempty"`
}

// User is what one user got.
type User struct {
	Name                string  `json:"user"`
	Jobs                int     `json:"jobs"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
	// CPUSeconds and MeanWait are 0 in older results.
	CPUSeconds float64 `json:"cpu_seconds"`
	MeanWait   float64 `json:"mean_wait"` // seconds
}

// UsersOf keeps of each user's measures those of [User].
func UsersOf(all []metrics.User) []User {
	kept := make([]User, len(all))
	for i, u := range all {
		kept[i] = User{
			Name: u.Name, Jobs: u.Jobs, MeanBoundedSlowdown: u.MeanBoundedSlowdown, CPUSeconds: u.CPUSeconds,
			MeanWait: u.MeanWait,
		}
	}
	return kept
}

// Machine is the machine that the jobs of a cell ran on.
type Machine struct {
	Slots  int   `json:"slots"`
	Cpus   int64 `json:"cpus"`
	Memory int64 `json:"memory"` // MiB; 0: memory is no resource
}
