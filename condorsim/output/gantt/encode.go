package gantt

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/lanes"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// data is the JSON that the page's scripts get. Lists of numbers are zigzag varints, in base64.
// Each of Columns has one number for each job, in the order of the workload; the column lanes has
// two for each piece.
type data struct {
	Title string `json:"title"`
	// Begin and End are the first submission and the last end, in seconds of the trace. Dates are written
	// by Clocks; none: no dates are known.
	Begin  int64             `json:"begin"`
	End    int64             `json:"end"`
	Clocks []instant.Stretch `json:"clocks"`
	Memory bool              `json:"memory"` // memory is a resource
	Slots  []slotData        `json:"slots"`
	// Partitions are the names of a machine's partitions; without any, there is no column
	// partition.
	Partitions []string `json:"partitions,omitempty"`
	Users      []string `json:"users"`
	Hows       []string `json:"hows"`
	Count      int      `json:"count"`
	// Names are the names of the jobs; if all are numbers, the column ids has them instead.
	Names   []string          `json:"names,omitempty"`
	Columns map[string]string `json:"columns"`
	// Held says why jobs were held; Requeued has how many runs a job lost, and their cpu seconds.
	// The keys are indices of jobs. They are no columns, since few jobs have an entry.
	Held     map[int]string   `json:"held"`
	Requeued map[int][2]int64 `json:"requeued"`
	// Dropped are the jobs of the trace that the simulation does not have; Unlisted is how many
	// others there are, whose names are not known.
	Dropped  []droppedData `json:"dropped"`
	Unlisted int           `json:"unlisted"`
}

// droppedData are the jobs that were dropped for a reason. Ranges has two numbers for each range of
// their numbers: how much greater its first is than the last before (at first, than 0), and how
// many follow that first.
type droppedData struct {
	Why    string `json:"why"`
	Ranges string `json:"ranges"`
}

type slotData struct {
	Name string `json:"name"`
	Cpus int64  `json:"cpus"`
}

// column is a list of numbers, encoded as varints.
type column []byte

func (c *column) put(v int64) { *c = binary.AppendVarint(*c, v) }

// text returns the list as the page has it.
func (c *column) text() string { return base64.StdEncoding.EncodeToString(*c) }

// encode turns a simulation, with the lanes that package lanes found, into columns. Times are stored as
// differences, to the job before or to other times of the job, since small numbers take less room.
func encode(r *condorsim.Result, packed [][]lanes.Piece) data {
	w := r.Workload
	begin, end := span(r)
	d := data{
		Begin: int64(begin), End: int64(end), Clocks: w.Clock().Stretches(int64(begin), int64(end)), Memory: w.Memory() > 0, Count: len(w.Jobs),
		Columns: map[string]string{}, Users: []string{}, Hows: []string{}, Held: map[int]string{},
		Requeued: map[int][2]int64{}, Dropped: []droppedData{},
	}
	d.addSlots(w)
	d.addDropped(w)
	names := []string{"submit", "wait", "run", "rest", "cpus", "memory", "promise", "how", "user", "pieces", "lanes"}
	if d.Partitions != nil {
		names = append(names, "partition")
	}
	columns := map[string]*column{}
	for _, name := range names {
		columns[name] = new(column)
	}
	last := begin
	for i, j := range w.Jobs {
		o := r.Outcomes[i]
		columns["submit"].put(int64(j.Submit - last))
		last = j.Submit
		cpus, memory := r.Occupies(backfill.JobID(i))
		columns["cpus"].put(cpus)
		columns["memory"].put(memory)
		columns["user"].put(index(&d.Users, j.User))
		if o.Requeues > 0 {
			d.Requeued[i] = [2]int64{int64(o.Requeues), int64(o.Lost)}
		}
		if o.Held != "" {
			d.Held[i] = o.Held
		}
		d.putRun(columns, j, o, packed[i])
	}
	for _, name := range names {
		d.Columns[name] = columns[name].text()
	}
	d.identify(w.Jobs)
	return d
}

// putRun adds a job's run and the lanes in which it is drawn. A job that did not run to its end
// counts as held.
func (d *data) putRun(columns map[string]*column, j condorsim.Job, o condorsim.Outcome, pieces []lanes.Piece) {
	put := func(name string, v int64) { columns[name].put(v) }
	if !o.Ended {
		put("wait", -1) // never ran
		put("run", 0)
		put("rest", int64(j.Estimate))
		put("promise", -1)
		put("how", index(&d.Hows, "held"))
		put("pieces", 0)
		d.putPartition(columns, nil)
		return
	}
	d.putPartition(columns, o.Placement)
	put("wait", int64(o.Start-j.Submit))
	put("run", int64(o.End-o.Start))
	put("rest", int64(o.Estimate-(o.End-o.Start))) // unused part of the estimate
	promise := int64(-1)
	if o.Promised {
		promise = int64(o.Guarantee - j.Submit)
	}
	put("promise", promise)
	how := o.How.String()
	if j.Scavenger {
		how = "scavenger"
	}
	put("how", index(&d.Hows, how))
	put("pieces", int64(len(pieces)))
	for _, p := range pieces {
		put("lanes", p.Lane)
		put("lanes", p.Count)
	}
}

// addSlots lists the slots and the partitions. It leaves out a partitioned machine's wires, which
// are slots without cpus.
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

// addDropped lists the jobs that were dropped before the simulation, by reason.
func (d *data) addDropped(w *condorsim.Workload) {
	for _, reason := range w.Cleaning.Dropped() {
		ids := workload.Dropped(w.Drops, reason.Why)
		d.Unlisted += reason.Jobs - len(ids)
		slices.Sort(ids)
		ids = slices.Compact(ids) // parts of a job share its number
		var ranges column
		var last int64
		for len(ids) > 0 {
			n := 1
			for n < len(ids) && ids[n] == ids[0]+int64(n) {
				n++
			}
			ranges.put(ids[0] - last)
			ranges.put(int64(n - 1))
			last, ids = ids[n-1], ids[n:]
		}
		if len(ranges) > 0 {
			d.Dropped = append(d.Dropped, droppedData{reason.Why, ranges.text()})
		}
	}
}

// putPartition adds the partition that a job ran on, if the machine has partitions.
func (d *data) putPartition(columns map[string]*column, at negotiator.Placement) {
	if c := columns["partition"]; c != nil && len(at) > 0 {
		c.put(index(&d.Partitions, at[0].Name()))
	} else if c != nil {
		c.put(-1) // never ran
	}
}

// identify stores the jobs' names: as the column ids if all are numbers, else as Names.
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
	d.Columns["ids"] = ids.text()
}

// index returns the index of a text in a list, and appends it if it is missing.
func index(list *[]string, text string) int64 {
	i := slices.Index(*list, text)
	if i < 0 {
		i = len(*list)
		*list = append(*list, text)
	}
	return int64(i)
}

// span returns the first submission and the last end.
func span(r *condorsim.Result) (begin, end backfill.Time) {
	for i, o := range r.Outcomes {
		submit := r.Workload.Jobs[i].Submit
		if i == 0 {
			begin, end = submit, submit
		}
		begin, end = min(begin, submit), max(end, submit, o.End)
	}
	return begin, end
}
