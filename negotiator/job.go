package negotiator

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Schema says how ads are read: which resources there are and which attributes
// of a job hold its estimate and its limit.
type Schema struct {
	// Resources are the pool's resources, cpus first. The slots' attributes are
	// named like them (Cpus), the jobs' begin with Request (RequestCpus).
	Resources []string
	// Estimates are the job attributes that may hold the expected run time in
	// seconds; the first that a job has counts.
	Estimates []string
	// Limits are those that may hold the run time at which the pool ends it.
	Limits []string
	// Labels are the labels that somebody asks for: those of every job, as owner, or
	// else attributes.
	Labels []string
}

// DefaultSchema reads the resources that every HTCondor slot advertises and
// gpus, and the estimate from where users put it.
func DefaultSchema() Schema {
	limits := []string{"AllowedExecuteDuration", "AllowedJobDuration"}
	return Schema{
		Resources: []string{"cpus", "memory", "disk", "gpus"},
		Estimates: append([]string{"EstimatedRunTime"}, limits...),
		Limits:    limits,
	}
}

// labelled is a label and the attribute that it is read from.
type labelled struct{ label, attr string }

// labels are what a job's ad says of whose it is, and under which attributes.
var labels = []labelled{
	{"owner", "Owner"}, {"group", "AcctGroup"}, {"account", "AccountingGroup"}, {"project", "ProjectName"}, {"qos", "QOS"}, {"executable", "Cmd"},
}

// LabelsOf is what a job's ad says of whose it is; nil if it says nothing.
func LabelsOf(ad *classad.ClassAd) (found map[string]string) {
	for _, l := range labels {
		if text, given := ad.Text(l.attr); given && text != "" {
			if found == nil {
				found = map[string]string{}
			}
			found[l.label] = text
		}
	}
	return found
}

// LabelsOf is what [LabelsOf] finds, and the attributes that are asked for.
func (s Schema) LabelsOf(ad *classad.ClassAd) map[string]string {
	found := LabelsOf(ad)
	for _, name := range s.Labels {
		value := ad.Eval(name, nil)
		text, isText := value.Text()
		if !isText && value.Kind() != classad.Undefined && value.Kind() != classad.Error {
			text = value.String()
		}
		if text == "" || attributeOf(name) != name {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[name] = text
	}
	return found
}

// LabelAttributes are the job attributes behind the labels that are asked for.
func (s Schema) LabelAttributes() []string {
	all := make([]string, len(s.Labels))
	for i, name := range s.Labels {
		all[i] = attributeOf(name)
	}
	return all
}

// EveryLabel names the labels that [LabelsOf] finds.
func EveryLabel() []string {
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = l.label
	}
	return all
}

// attributeOf is the attribute that a label is read from.
func attributeOf(label string) string {
	for _, l := range labels {
		if l.label == label {
			return l.attr
		}
	}
	return label
}

// Numbers in ads are bounded, so that sums stay far from overflow.
const (
	maxAmount  = 1_000_000_000_000_000 // of a resource
	maxSeconds = 1 << 40
	maxNodes   = 1 << 20
)

// whole reads an attribute that is a whole number within bounds, be it an integer
// or a real: startds print TotalSlotDisk as 1448969220.0. One that is missing or
// undefined is not given; any other value is an error.
func whole(ad *classad.ClassAd, attr string, low, high int64) (v int64, given bool, err error) {
	value := ad.Eval(attr, nil)
	if value.Kind() == classad.Undefined {
		return 0, false, nil
	}
	v, ok := value.Int()
	if n, isNumber := value.Number(); !ok && isNumber && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
		v, ok = int64(n), true
	}
	if !ok || v < low || v > high {
		return 0, false, fmt.Errorf("%s is %v: must be a whole number from %d to %d", attr, value, low, high)
	}
	return v, true, nil
}

// first reads the first of several attributes that is given, as seconds of at
// least one.
func first(ad *classad.ClassAd, attrs []string) (backfill.Time, error) {
	for _, attr := range attrs {
		v, given, err := whole(ad, attr, 1, maxSeconds)
		if given || err != nil {
			return backfill.Time(v), err
		}
	}
	return 0, nil
}

// attribute is the ad's name for a resource: cpus is Cpus.
func attribute(resource string) string {
	if resource == "" {
		return ""
	}
	return strings.ToUpper(resource[:1]) + resource[1:]
}

// SlotFromAd reads a slot. A partitionable slot's capacity is what it has in
// all (TotalSlotCpus), not what is left of it (Cpus); jobs are matched with the
// same.
func (s Schema) SlotFromAd(ad *classad.ClassAd) (*Slot, error) {
	name, ok := ad.Text("Name")
	if !ok || name == "" {
		return nil, errors.New("the slot ad has no Name")
	}
	slot := &Slot{Name: name, Ad: ad, Capacity: make(backfill.Vector, len(s.Resources))}
	for i, resource := range s.Resources {
		attr := attribute(resource)
		left, given, err := whole(ad, attr, 0, maxAmount)
		if err != nil {
			return nil, fmt.Errorf("slot %s: %w", name, err)
		}
		total, partitionable, err := whole(ad, "TotalSlot"+attr, 0, maxAmount)
		switch {
		case err != nil:
			return nil, fmt.Errorf("slot %s: %w", name, err)
		case !partitionable && !given && i == 0:
			return nil, fmt.Errorf("slot %s has no %s", name, attr)
		case !partitionable:
			total = left
		case total != left:
			if slot.Ad == ad {
				slot.Ad = ad.Clone()
			}
			slot.Ad.SetInt(attr, total)
		}
		slot.Capacity[i] = total
	}
	return slot, nil
}

// JobFromAd reads a job. The ID is the caller's; ClusterId and ProcId name the
// job and are its place among those submitted in the same second.
func (s Schema) JobFromAd(id backfill.JobID, ad *classad.ClassAd) (*Job, error) {
	cluster, haveCluster := ad.Int("ClusterId")
	proc, haveProc := ad.Int("ProcId")
	if !haveCluster || !haveProc {
		return nil, errors.New("the job ad has no ClusterId and ProcId")
	}
	j := &Job{
		ID: id, Ad: ad, Nodes: 1,
		Name:  strconv.FormatInt(cluster, 10) + "." + strconv.FormatInt(proc, 10),
		Place: backfill.Place{Cluster: cluster, Proc: proc},
	}
	if err := s.readJob(j); err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	return j, nil
}

// readJob fills in all but the job's name.
func (s Schema) readJob(j *Job) error {
	submit, given, err := whole(j.Ad, "QDate", -maxSeconds, maxSeconds)
	if err == nil && !given {
		err = errors.New("QDate is missing")
	}
	if err != nil {
		return err
	}
	j.Submit = backfill.Time(submit)
	nodes, given, err := whole(j.Ad, "MinHosts", 1, maxNodes)
	if err != nil {
		return err
	}
	if given {
		j.Nodes = int(nodes)
	}
	if j.Estimate, err = first(j.Ad, s.Estimates); err != nil {
		return err
	}
	if j.Limit, err = first(j.Ad, s.Limits); err != nil {
		return err
	}
	j.Labels = s.LabelsOf(j.Ad)
	_, err = s.Request(j.Ad, j.Nodes)
	return err
}

// Request is what each of a job's chunks asks for. A resource that the ad does
// not name is not asked for; of cpus, one is.
func (s Schema) Request(ad *classad.ClassAd, nodes int) (backfill.Vector, error) {
	r := make(backfill.Vector, len(s.Resources))
	for i, resource := range s.Resources {
		amount, given, err := whole(ad, "Request"+attribute(resource), 0, maxAmount/int64(nodes))
		if err != nil {
			return nil, err
		}
		if !given && i == 0 {
			amount = 1
		}
		r[i] = amount
	}
	if r.Zero() {
		return nil, errors.New("it asks for nothing: RequestCpus must be at least 1 where nothing else is requested")
	}
	return r, nil
}

// check refuses a job that a policy could not plan with. Where the autocluster of
// its ad is known, so is what it requests.
func (s Schema) check(j *Job, known *autocluster) error {
	switch {
	case j.Nodes < 1 || j.Nodes > maxNodes:
		return fmt.Errorf("%d chunks: must be from 1 to %d", j.Nodes, maxNodes)
	case j.Estimate < 0 || j.Estimate > maxSeconds || j.Limit < 0 || j.Limit > maxSeconds:
		return fmt.Errorf("estimate %d, limit %d: must be from 0 to %d", j.Estimate, j.Limit, int64(maxSeconds))
	}
	if known != nil && !slices.ContainsFunc(known.request, func(amount int64) bool { return amount > maxAmount/int64(j.Nodes) }) {
		return nil
	}
	_, err := s.Request(j.Ad, j.Nodes)
	return err
}
