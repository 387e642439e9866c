package gantt

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// data is what the page's scripts get, as JSON. A column is a number for each job
// in order of jobs: zigzag varints, in base64.
type data struct {
	Title string `json:"title"`
	// Begin and End are the first submission and the last end, in seconds of the
	// trace; UnixStart is when second 0 was, 0 if that is not known.
	Begin     int64      `json:"begin"`
	End       int64      `json:"end"`
	UnixStart int64      `json:"unixStart"`
	Memory    bool       `json:"memory"` // there is such a resource
	Slots     []slotData `json:"slots"`
	// Partitions are the names of a partitioned machine's, else there is no column of
	// that name.
	Partitions []string `json:"partitions,omitempty"`
	Users      []string `json:"users"`
	Hows       []string `json:"hows"`
	Count      int      `json:"count"`
	// Names are the jobs' if they are not all numbers, else the column ids is there.
	Names   []string          `json:"names,omitempty"`
	Columns map[string]string `json:"columns"`
	// Held says why, and Requeued how many runs were lost and their cpu seconds, by the
	// place of the job: they are few.
	Held     map[int]string   `json:"held"`
	Requeued map[int][2]int64 `json:"requeued"`
}

type slotData struct {
	Name string `json:"name"`
	Cpus int64  `json:"cpus"`
}

// column collects numbers.
type column []byte

func (c *column) put(v int64) { *c = binary.AppendVarint(*c, v) }

// encode puts a simulation and its lanes into columns. Differences of neighbours
// and of times are small where the numbers themselves are not.
func encode(r *condorsim.Result, packed [][]piece) data {
	w := r.Workload
	begin, end := span(r)
	d := data{Begin: int64(begin), End: int64(end), UnixStart: w.UnixStart, Memory: w.Memory() > 0, Count: len(w.Jobs), Columns: map[string]string{}, Users: []string{}, Hows: []string{}, Held: map[int]string{}, Requeued: map[int][2]int64{}}
	d.addSlots(w)
	names := []string{"submit", "wait", "run", "rest", "cpus", "memory", "promise", "how", "user", "pieces", "lanes"}
	if d.Partitions != nil {
		names = append(names, "partition")
	}
	columns := map[string]*column{}
	for _, name := range names {
		columns[name] = new(column)
	}
	put := func(name string, v int64) { columns[name].put(v) }
	last := int64(begin)
	for i, j := range w.Jobs {
		o := r.Outcomes[i]
		put("submit", int64(j.Submit)-last)
		last = int64(j.Submit)
		put("cpus", j.Cpus)
		put("memory", j.Memory)
		put("user", index(&d.Users, j.User))
		if o.Requeues > 0 {
			d.Requeued[i] = [2]int64{int64(o.Requeues), int64(o.Lost)}
		}
		if o.Held != "" {
			d.Held[i] = o.Held
		}
		if !o.Ended {
			put("wait", -1) // never ran
			put("run", 0)
			put("rest", int64(j.Estimate))
			put("promise", -1)
			put("how", index(&d.Hows, "held"))
			put("pieces", 0)
			d.putPartition(columns, nil)
			continue
		}
		d.putPartition(columns, o.Placement)
		put("wait", int64(o.Start-j.Submit))
		put("run", int64(o.End-o.Start))
		put("rest", int64(o.Estimate-(o.End-o.Start))) // of the estimate
		promise := int64(-1)
		if o.Promised {
			promise = int64(o.Guarantee - j.Submit)
		}
		put("promise", promise)
		put("how", index(&d.Hows, o.How.String()))
		put("pieces", int64(len(packed[i])))
		for _, p := range packed[i] {
			put("lanes", p.lane)
			put("lanes", p.count)
		}
	}
	for _, name := range names {
		d.Columns[name] = base64.StdEncoding.EncodeToString(*columns[name])
	}
	d.identify(w.Jobs)
	return d
}

// addSlots lists the slots, of a partitioned machine without the wires, and the
// partitions.
func (d *data) addSlots(w *condorsim.Workload) {
	for _, s := range w.Slots {
		if len(w.Bundles) == 0 || s.Capacity[0] > 0 {
			d.Slots = append(d.Slots, slotData{s.Name, s.Capacity[0]})
		}
	}
	for _, b := range w.Bundles {
		d.Partitions = append(d.Partitions, b.Name)
	}
}

// putPartition says which partition a job ran on, if it is a partitioned machine's.
func (d *data) putPartition(columns map[string]*column, at negotiator.Placement) {
	if c := columns["partition"]; c != nil && len(at) > 0 {
		c.put(index(&d.Partitions, at[0].Name()))
	} else if c != nil {
		c.put(-1) // never ran
	}
}

// identify stores the jobs' names: as numbers if they all are.
func (d *data) identify(jobs []condorsim.Job) {
	var ids column
	last := int64(0)
	for _, j := range jobs {
		id, err := strconv.ParseInt(j.Name, 10, 53)
		if err != nil || strconv.FormatInt(id, 10) != j.Name {
			for _, named := range jobs {
				d.Names = append(d.Names, named.Name)
			}
			return
		}
		ids.put(id - last)
		last = id
	}
	d.Columns["ids"] = base64.StdEncoding.EncodeToString(ids)
}

// index is the place of a text in a list, which it joins if it is not there.
func index(list *[]string, text string) int64 {
	i := slices.Index(*list, text)
	if i < 0 {
		i = len(*list)
		*list = append(*list, text)
	}
	return int64(i)
}
