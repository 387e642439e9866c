package pools

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// MaxSlots bounds the slots of a simulated pool, as a short file can ask for any number, and each
// takes 3 KB.
const MaxSlots = 1 << 18

// makeSlots checks the classes and makes their slots.
func (b *builder) makeSlots() error {
	if len(b.d.Classes) == 0 {
		return errors.New("there is no slot in it: give classes, or ads")
	}
	amounts := make([]map[string]int64, len(b.d.Classes))
	var others []string
	slots := 0
	for i := range b.d.Classes {
		at := fmt.Sprintf("classes[%d]", i)
		if err := b.checkClass(at, &b.d.Classes[i]); err != nil {
			return err
		}
		if slots += b.d.Classes[i].count(); slots > MaxSlots {
			return b.wrong(at+".count", "%d slots with those above: must be at most %d in all", slots, MaxSlots)
		}
		amounts[i] = b.d.Classes[i].amounts(b.d.Pack.WholeSlots)
		others = append(others, slices.Sorted(maps.Keys(b.d.Classes[i].Resources))...)
	}
	b.pool.Schema = b.schema
	b.pool.Schema.Resources = b.resources(amounts)
	if err := b.checkResources(); err != nil {
		return err
	}
	return b.addSlots(amounts, others)
}

// addSlots adds the slots of all classes. The amounts are those of each class by resource; others
// are the resources that the classes define themselves.
func (b *builder) addSlots(amounts []map[string]int64, others []string) error {
	b.pool.asked = map[string]bool{}
	names := map[string]bool{}
	for i := range b.d.Classes {
		c := &b.d.Classes[i]
		ad, err := c.ad(amounts[i], others)
		if err != nil {
			return err
		}
		note(b.pool.asked, ad) // the same for all slots of the class
		for n := range c.count() {
			name := c.Name
			if !c.alone {
				name += strconv.Itoa(n + 1)
			}
			if names[name] {
				return b.wrong(fmt.Sprintf("classes[%d].name", i), "another class has a slot %s, too", name)
			}
			names[name] = true
			own := ad.Clone()
			own.SetString("Name", name)
			own.SetString("Machine", name)
			slot, err := b.pool.Schema.SlotFromAd(own)
			if err != nil {
				return b.wrong(fmt.Sprintf("classes[%d]", i), "%v", err)
			}
			b.pool.Slots = append(b.pool.Slots, slot)
		}
	}
	return nil
}

// resources returns the resources of the pool: those of the description, or those that any class
// has.
func (b *builder) resources(amounts []map[string]int64) []string {
	all := map[string]bool{}
	for _, a := range amounts {
		for name := range a {
			all[name] = true
		}
	}
	if given := b.d.Resources; len(given) > 0 {
		if b.d.Pack.WholeSlots {
			given = append(slices.Clone(given), Whole)
		}
		return given
	}
	list := []string{"cpus"}
	delete(all, "cpus")
	for _, name := range []string{"memory", "disk", "gpus"} {
		if all[name] {
			list = append(list, name)
			delete(all, name)
		}
	}
	return append(list, slices.Sorted(maps.Keys(all))...)
}

func (b *builder) checkResources() error {
	list := b.pool.Schema.Resources
	for i, name := range list {
		switch {
		case i == 0 && name != "cpus":
			return b.wrong("resources[0]", "%s: the first resource is cpus", name)
		case !resourceName.MatchString(name):
			return b.wrong(fmt.Sprintf("resources[%d]", i), "%q: must be a name in lower case", name)
		case slices.Contains(list[:i], name):
			return b.wrong(fmt.Sprintf("resources[%d]", i), "%s is there twice", name)
		}
	}
	return nil
}

var (
	className    = regexp.MustCompile(`^[A-Za-z][\w.@-]*$`)
	resourceName = regexp.MustCompile(`^[a-z]\w*$`)
	attribute    = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

func (b *builder) checkClass(at string, c *class) error {
	switch {
	case !className.MatchString(c.Name):
		return b.wrong(at+".name", "%q: must be a name; the slots are numbered behind it", c.Name)
	case !slices.Contains([]string{"", "partitionable", "static"}, c.Type):
		return b.wrong(at+".type", "%q: must be static, or partitionable, as which it counts without it", c.Type)
	case c.count() < 1 || c.count() > MaxSlots:
		return b.wrong(at+".count", "%d: must be from 1 to %d", c.count(), MaxSlots)
	case c.Cpus < 1 || c.Cpus > backfill.MaxInputAmount:
		return b.wrong(at+".cpus", "%d: must be from 1 to %d", c.Cpus, int64(backfill.MaxInputAmount))
	case c.Gpus != nil && (*c.Gpus < 0 || *c.Gpus > backfill.MaxInputAmount):
		return b.wrong(at+".gpus", "%d: must be from 0 to %d", *c.Gpus, int64(backfill.MaxInputAmount))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources)) {
		where := at + ".resources." + name
		switch amount := c.Resources[name]; {
		case !resourceName.MatchString(name):
			return b.wrong(at+".resources", "%q: must be a name in lower case", name)
		case slices.Contains([]string{"cpus", "memory", "disk", "gpus", Whole}, name):
			return b.wrong(where, "%s has a place of its own", name)
		case amount < 0 || amount > backfill.MaxInputAmount:
			return b.wrong(where, "%d: must be from 0 to %d", amount, int64(backfill.MaxInputAmount))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		if !attribute.MatchString(name) {
			return b.wrong(at+".attributes", "%q is no name of an attribute", name)
		}
		if slices.Contains(own, strings.ToLower(name)) {
			return b.wrong(at+".attributes."+name, "the slots have their own; it cannot be set")
		}
	}
	return b.checkValues(at, c.Attributes)
}

// count returns how many slots the class has.
func (c *class) count() int {
	if c.Count == nil {
		return 1
	}
	return *c.Count
}

// checkValues refuses attributes without a value, which YAML allows.
func (b *builder) checkValues(at string, attributes map[string]expression) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if attributes[name].expr == nil {
			return b.wrong(at+".attributes."+name, "has no value; give it one, such as undefined")
		}
	}
	return nil
}

// own are the attributes that other keys of a description set, in lower case.
var own = []string{
	"mytype", "name", "machine", "cpus", "memory", "disk", "gpus", "start", "requirements",
	"withinresourcelimits",
}

// amounts returns how much each slot of the class has of the resources that the class names, and of
// [Whole] if jobs take whole slots.
func (c *class) amounts(whole bool) map[string]int64 {
	const kib, mib = 1 << 10, 1 << 20
	a := maps.Clone(c.Resources)
	if a == nil {
		a = map[string]int64{}
	}
	a["cpus"] = c.Cpus
	if c.Memory != nil {
		a["memory"] = c.Memory.in(mib)
	}
	if c.Disk != nil {
		a["disk"] = c.Disk.in(kib)
	}
	if c.Gpus != nil {
		a["gpus"] = *c.Gpus
	}
	if whole {
		a[Whole] = 1
	}
	return a
}

// ad returns the ad that the slots of the class share. What the class does not mention is set so
// that ordinary jobs match: Linux on x86-64, file transfer, and as much memory and disk as anyone
// requests. Gpus, and the resources in others, are 0 unless the class has them. What a slot has in all
// is said as startds do, for jobs that ask for it.
func (c *class) ad(amounts map[string]int64, others []string) (*classad.ClassAd, error) {
	ad := classad.New()
	ad.SetString("MyType", "Machine")
	ad.SetString("Name", "")
	ad.SetString("Machine", "")
	ad.SetString("OpSys", "LINUX")
	ad.SetString("Arch", "X86_64")
	ad.SetBool("HasFileTransfer", true)
	if c.Type == "static" {
		ad.SetString("SlotType", "Static")
	} else {
		ad.SetBool("PartitionableSlot", true)
	}
	ad.SetInt("Memory", backfill.MaxInputAmount)
	ad.SetInt("Disk", backfill.MaxInputAmount)
	var limits []string
	for _, name := range append([]string{"gpus"}, others...) {
		if _, has := amounts[name]; !has {
			amounts[name] = 0
		}
	}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		attr := negotiator.Attribute(name)
		ad.SetInt(attr, amounts[name])
		if name != Whole { // jobs may ask for all of it, and TotalSlots is something else
			ad.SetInt("TotalSlot"+attr, amounts[name])
			ad.SetInt("Total"+attr, amounts[name])
		}
		limits = append(limits, fmt.Sprintf("(TARGET.Request%s is undefined || MY.%s >= TARGET.Request%s)",
			attr, attr, attr))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		ad.Set(name, c.Attributes[name].expr)
	}
	if c.Start != nil {
		ad.Set("START", c.Start.expr)
	} else {
		ad.SetBool("START", true)
	}
	if err := ad.SetExpr("WithinResourceLimits", strings.Join(limits, " && ")); err != nil {
		return nil, err
	}
	return ad, ad.SetExpr("Requirements", "START && WithinResourceLimits")
}
