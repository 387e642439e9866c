package negotiator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Schema says how ads are read: which resources there are and which attribute
// of a job holds its estimate.
type Schema struct {
	// Resources are the pool's resources, cpus first. The slots' attributes are
	// named like them (Cpus), the jobs' begin with Request (RequestCpus).
	Resources []string
	// Estimates are the job attributes that may hold the run time in seconds;
	// the first that a job has counts.
	Estimates []string
}

// DefaultSchema reads the resources that every HTCondor slot advertises and
// gpus, and the estimate from where users put it.
func DefaultSchema() Schema {
	return Schema{
		Resources: []string{"cpus", "memory", "disk", "gpus"},
		Estimates: []string{"EstimatedRunTime", "AllowedExecuteDuration", "AllowedJobDuration"},
	}
}

// attribute is the ad's name for a resource: cpus is Cpus.
func attribute(resource string) string {
	if resource == "" {
		return ""
	}
	return strings.ToUpper(resource[:1]) + resource[1:]
}

// SlotFromAd reads a slot. A partitionable slot's capacity is what it has in
// all (TotalSlotCpus), not what is left of it (Cpus).
func (s Schema) SlotFromAd(ad *classad.ClassAd) (*Slot, error) {
	name, ok := ad.Text("Name")
	if !ok || name == "" {
		return nil, errors.New("the slot ad has no Name")
	}
	slot := &Slot{Name: name, Ad: ad, Capacity: make(backfill.Vector, len(s.Resources))}
	for i, resource := range s.Resources {
		amount, found := ad.Int("TotalSlot" + attribute(resource))
		if !found {
			amount, found = ad.Int(attribute(resource))
		}
		if found && amount < 0 {
			return nil, fmt.Errorf("slot %s: %s is negative: %d", name, attribute(resource), amount)
		}
		if !found && i == 0 {
			return nil, fmt.Errorf("slot %s: %s is missing or not a number", name, attribute(resource))
		}
		slot.Capacity[i] = amount
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
	submit, ok := ad.Int("QDate")
	if !ok {
		return nil, fmt.Errorf("job %s: QDate is missing or not a whole number", j.Name)
	}
	j.Submit = backfill.Time(submit)
	if nodes, found := ad.Int("MinHosts"); found {
		if nodes < 1 {
			return nil, fmt.Errorf("job %s: MinHosts is %d: at least one is needed", j.Name, nodes)
		}
		j.Nodes = int(nodes)
	}
	for _, attr := range s.Estimates {
		estimate, found := ad.Int(attr)
		if !found {
			continue
		}
		if estimate < 1 {
			return nil, fmt.Errorf("job %s: %s is %d: at least one second is needed", j.Name, attr, estimate)
		}
		j.Estimate = backfill.Time(estimate)
		break
	}
	if owner, found := ad.Text("Owner"); found {
		j.Labels = map[string]string{"owner": owner}
	}
	if _, err := s.request(ad); err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	return j, nil
}

// request is what each chunk of a job asks for. A resource that the ad does not
// name is not asked for; of cpus, one is.
func (s Schema) request(ad *classad.ClassAd) (backfill.Vector, error) {
	r := make(backfill.Vector, len(s.Resources))
	for i, resource := range s.Resources {
		attr := "Request" + attribute(resource)
		if _, given := ad.Lookup(attr); !given {
			if i == 0 {
				r[i] = 1
			}
			continue
		}
		amount, ok := ad.Int(attr)
		if !ok || amount < 0 {
			return nil, fmt.Errorf("%s is not a whole number of at least 0: %v", attr, ad.Eval(attr, nil))
		}
		r[i] = amount
	}
	return r, nil
}
