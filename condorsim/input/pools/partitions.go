package pools

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// partition is a part of a partitioned machine, which one job takes whole. It is a set of slots,
// given by their names or by shell patterns. Two partitions that share a slot are in conflict. A
// wire is a slot without cpus that exists to be shared.
//
//	kind: partitioned
//	classes:
//	  - {name: node, count: 4, cpus: 8}
//	wires: [ring]
//	partitions:
//	  - {name: all, slots: ["node*"]}
//	  - {name: left, slots: [node1, node2, ring]}
//	  - {name: right, slots: [node3, node4, ring], start: TARGET.Owner == "eve"}
//
// A job goes to the partitions of the smallest size, in cpus, that holds it; their ads'
// Requirements see to that. It may have fewer processors than the partition.
type partition struct {
	Name       string                `yaml:"name"`
	Slots      []string              `yaml:"slots"`
	Attributes map[string]expression `yaml:"attributes"` // of its ad
	Start      *expression           `yaml:"start"`      // which jobs may start there

	at string // its path in the description, if not among the partitions
}

// partitioned is the kind of partitioned machines.
const partitioned = "partitioned"

// Bounds of a partitioned machine.
const (
	maxParts      = 1 << 12 // midplanes and wires
	maxPartitions = 1 << 14
	maxShares     = 1 << 20 // sum of the slots of all partitions
)

// wire is a resource of which each wire has one.
const wire = "wires"

// The Requirements of a partition's ad: those of any slot, and that no smaller partition would hold
// the job.
const (
	partitionRequirements = "START && WithinResourceLimits && SmallestSize"
	smallestSize          = "TARGET.RequestCpus > MY.NextSmaller"
)

// ownOfPartitions are the attributes that partitions have in addition to those of slots.
var ownOfPartitions = []string{"nextsmaller", "smallestsize"}

// makePartitions makes the slots and the partitions.
func (b *builder) makePartitions() error {
	switch {
	case b.d.Ads != "":
		return b.wrong("ads", "the slots of a partitioned machine are those of its grid, or classes and wires")
	case b.d.Pack != description{}.Pack:
		return b.wrong("pack", "must be left out: a job has one whole partition")
	case b.d.Grid != nil && len(b.d.Classes)+len(b.d.Wires)+len(b.d.Partitions) > 0:
		return b.wrong("grid", "it has the slots and partitions; leave classes, wires and partitions out")
	case b.d.Grid != nil:
		if err := b.spanGrid(); err != nil {
			return err
		}
	case len(b.d.Partitions) == 0:
		return b.wrong("", "there is no partition in it: give a grid, or classes and partitions")
	}
	if n := len(b.d.Partitions); n > maxPartitions {
		return b.wrong("partitions", "%d of them: must be at most %d", n, maxPartitions)
	}
	if err := b.makeSlots(); err != nil {
		return err
	}
	if err := b.addWires(); err != nil {
		return err
	}
	if n := len(b.pool.Slots); n > maxParts {
		return b.wrong("", "a partitioned machine of %d slots, wires included: must have at most %d", n, maxParts)
	}
	return b.bundle()
}

// addWires adds the wires as slots, and their resource.
func (b *builder) addWires() error {
	if len(b.d.Wires) == 0 {
		return b.letIn()
	}
	names := map[string]bool{}
	for _, s := range b.pool.Slots {
		names[s.Name] = true
		s.Capacity = append(s.Capacity, 0)
	}
	b.pool.Schema.Resources = append(b.pool.Schema.Resources, wire)
	for i, name := range b.d.Wires {
		at := fmt.Sprintf("wires[%d]", i)
		switch {
		case !className.MatchString(name):
			return b.wrong(at, "%q: must be a name", name)
		case names[name]:
			return b.wrong(at, "another slot is called %s, too", name)
		}
		names[name] = true
		ad := classad.New()
		ad.SetString("MyType", "Machine")
		ad.SetString("Name", name)
		ad.SetInt("Cpus", 0)
		ad.SetInt("Wires", 1)
		ad.SetBool("START", true)
		capacity := make(backfill.Vector, len(b.pool.Schema.Resources))
		capacity[len(capacity)-1] = 1
		b.pool.Slots = append(b.pool.Slots, &negotiator.Slot{Name: name, Capacity: capacity, Ad: ad})
	}
	return b.letIn()
}

// letIn makes the slots accept requests of any size, since the ads of the partitions check sizes.
// Each slot's START still says which jobs may start there.
func (b *builder) letIn() error {
	for _, s := range b.pool.Slots {
		if err := s.Ad.SetExpr("Requirements", "START"); err != nil {
			return err
		}
	}
	return nil
}

// bundle checks the partitions of the description and adds them to the pool, as bundles.
func (b *builder) bundle() error {
	index := make(map[string]int, len(b.pool.Slots))
	for i, s := range b.pool.Slots {
		index[s.Name] = i
	}
	parts := make([][]int, len(b.d.Partitions)) // slots of each partition
	sizes := []int64{0}
	names, sames := map[string]bool{}, map[string]string{}
	used := make([]bool, len(b.pool.Slots))
	shares := 0
	for i := range b.d.Partitions {
		p := &b.d.Partitions[i]
		at := fmt.Sprintf("partitions[%d]", i)
		atName, atSlots := cmp.Or(p.at, at+".name"), cmp.Or(p.at, at+".slots")
		var err error
		if parts[i], err = b.slotsOf(at, p.Slots, index); err != nil {
			return err
		}
		cpus := b.amounts(parts[i])[0]
		same := fmt.Sprint(parts[i])
		shares += len(parts[i])
		switch {
		case !className.MatchString(p.Name) && b.d.Grid == nil:
			return b.wrong(atName, "%q: must be a name", p.Name)
		case names[p.Name]:
			return b.wrong(atName, "another partition is called %s, too", p.Name)
		case cpus == 0:
			return b.wrong(atSlots, "no slot with cpus is in it: no job can use it")
		case sames[same] != "":
			return b.wrong(atSlots, "they are those of partition %s", sames[same])
		case shares > maxShares:
			return b.wrong(atSlots, "the partitions up to here have %d slots in all: must be at most %d",
				shares, maxShares)
		}
		names[p.Name], sames[same] = true, p.Name
		sizes = append(sizes, cpus)
		for _, s := range parts[i] {
			used[s] = true
		}
	}
	if s := slices.Index(used, false); s >= 0 {
		return b.wrong("partitions", "slot %s is in none of them, so that no job can use it", b.pool.Slots[s].Name)
	}
	slices.Sort(sizes)
	return b.makeBundles(parts, slices.Compact(sizes))
}

// makeBundles adds a bundle for each partition of the description. parts has their slots; sizes has
// 0 and all sizes in cpus that occur, ascending.
func (b *builder) makeBundles(parts [][]int, sizes []int64) error {
	for i, slots := range parts {
		made, err := b.makeBundle(fmt.Sprintf("partitions[%d]", i), &b.d.Partitions[i], slots, sizes)
		if err != nil {
			return err
		}
		note(b.pool.asked, made.Ad)
		b.pool.Bundles = append(b.pool.Bundles, made)
	}
	return nil
}

// slotsOf returns the indices of the slots that names and patterns stand for, ascending. It is an
// error if one of them stands for no slot.
func (b *builder) slotsOf(at string, names []string, index map[string]int) ([]int, error) {
	if len(names) == 0 {
		return nil, b.wrong(at, "must name its slots")
	}
	var found []int
	for n, name := range names {
		if i, known := index[name]; known {
			found = append(found, i)
			continue
		}
		before := len(found)
		for i, s := range b.pool.Slots {
			match, err := path.Match(name, s.Name)
			if err != nil {
				return nil, b.wrong(fmt.Sprintf("%s.slots[%d]", at, n), "%q is no pattern", name)
			}
			if match {
				found = append(found, i)
			}
		}
		if len(found) == before {
			return nil, b.wrong(fmt.Sprintf("%s.slots[%d]", at, n), "%v", b.pool.absent(name))
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// amounts returns the sum of the capacities of the slots with these indices.
func (b *builder) amounts(slots []int) backfill.Vector {
	sum := make(backfill.Vector, len(b.pool.Schema.Resources))
	for _, i := range slots {
		sum.AddScaled(b.pool.Slots[i].Capacity, 1)
	}
	return sum
}

// makeBundle makes the bundle of a partition. Its ad is that of a slot which has what all the slots
// have together, and accepts only jobs that are too large for every smaller partition.
func (b *builder) makeBundle(at string, p *partition, slots []int, sizes []int64) (*negotiator.Bundle, error) {
	like := class{Name: p.Name, Attributes: p.Attributes, Start: p.Start}
	for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
		if lower := strings.ToLower(name); !attribute.MatchString(name) || slices.Contains(own, lower) ||
			slices.Contains(ownOfPartitions, lower) {
			return nil, b.wrong(at+".attributes", "%q is no name of an attribute, or one that cannot be set", name)
		}
	}
	if err := b.checkValues(at, p.Attributes); err != nil {
		return nil, err
	}
	amounts := map[string]int64{}
	for k, amount := range b.amounts(slots) {
		amounts[b.pool.Schema.Resources[k]] = amount
	}
	cpus := amounts["cpus"]
	ad, err := like.ad(amounts, nil)
	if err != nil {
		return nil, err
	}
	smaller, _ := slices.BinarySearch(sizes, cpus)
	ad.SetString("Name", p.Name)
	ad.SetString("Machine", p.Name)
	ad.SetInt("NextSmaller", sizes[max(smaller-1, 0)])
	for _, e := range [][2]string{{"SmallestSize", smallestSize}, {"Requirements", partitionRequirements}} {
		if err = ad.SetExpr(e[0], e[1]); err != nil {
			return nil, err
		}
	}
	made := &negotiator.Bundle{Name: p.Name, Ad: ad}
	for _, i := range slots {
		made.Slots = append(made.Slots, b.pool.Slots[i].Name)
	}
	return made, nil
}
