package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// rouseEvery is how soon the collector is told again that a job wants a slot whose machine sleeps.
const rouseEvery = 30 * time.Second

// Rouse tells the collector which jobs would start on slots of machines that sleep, in the slots'
// ads and in the words of the stock negotiator: condor_rooster, and whoever else wakes machines,
// looks at these. Nothing is claimed. What cannot be told now is tried again by the next call.
func (d *Dispatcher) Rouse(ctx context.Context, wanted []negotiator.Match) {
	now, jobs := d.now(), d.claims.Wishes(wanted)
	maps.DeleteFunc(d.roused, func(_ string, at time.Time) bool { return now.Sub(at) >= rouseEvery || at.After(now) })
	names := map[string]bool{}
	for name := range jobs {
		names[name] = d.roused[name].IsZero()
	}
	maps.DeleteFunc(names, func(_ string, due bool) bool { return !due })
	if len(names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	slots, err := d.sleepers(ctx, names)
	if err == nil && len(slots) > 0 {
		err = d.s.Collector.MergeSlots(ctx, d.wishes(slots, jobs, now))
	}
	if err != nil {
		d.log.Warn("the collector could not be told which machines are to wake up; this is tried again", "error", err)
		return
	}
	for _, slot := range slots {
		name, _ := slot.Literal("Name").Text()
		d.roused[name] = now
		for _, w := range jobs[name] {
			d.log.Debug("a machine that sleeps is wanted", "slot", name, "job", w.Job)
			d.s.Notes.roused(w, slot, d.address(w))
		}
	}
}

// address is that of the schedd of a wish's job.
func (d *Dispatcher) address(w claims.Wish) (a cedar.Address) {
	if s := d.schedds[w.Job.Schedd]; s != nil {
		a = s.Address
	}
	return a
}

// sleepers asks the collector for those of the named slots whose machines still sleep: what their
// startds are told apart by.
func (d *Dispatcher) sleepers(ctx context.Context, names map[string]bool) (slots []*classad.ClassAd, err error) {
	requirements := "Offline =?= true"
	if some := d.onlySlots(names); some != "" {
		requirements += " && (" + some + ")"
	}
	err = d.s.Collector.Query(ctx, []client.AdType{{
		Name: "Machine", Requirements: requirements,
		Projection: []string{"Name", "MyAddress", "StartdIpAddr", "SlotID", "OfflinePrimarySlotName"},
	}}, func(lines cedar.Lines) error {
		ad, wrong := lines.Ad()
		if wrong != nil {
			return nil //nolint:nilerr // a look at the pool says what is wrong with it
		}
		if name, _ := ad.Literal("Name").Text(); names[name] && d.isOwn(name, ad) {
			slots = append(slots, ad)
		}
		return nil
	})
	return slots, err
}

// wishes returns what is added to the ads of slots that are wanted, and to that of the first slot
// of each machine.
func (d *Dispatcher) wishes(slots []*classad.ClassAd, jobs map[string][]claims.Wish, now time.Time) (ads []*classad.ClassAd) {
	for _, slot := range slots {
		name, _ := slot.Literal("Name").Text()
		add := addTo(slot, name)
		add.SetInt("MachineLastMatchTime", now.Unix())
		total, chunks := 0, map[string]int{}
		for _, w := range jobs[name] {
			total += w.Chunks
			chunks[d.address(w).String()] += w.Chunks
		}
		add.SetInt("MachineMatchCount", int64(total))
		var all []string
		for _, schedd := range slices.Sorted(maps.Keys(chunks)) {
			all = append(all, fmt.Sprintf("[ Scheduler = %s; AutoclusterID = -1; RequestCount = %d ]", quote(schedd), chunks[schedd]))
		}
		_ = add.SetExpr("OfflineMatches", "{ "+strings.Join(all, ", ")+" }") // of that form it can be read
		ads = append(ads, add)
		if id, numbered := slot.Literal("SlotID").Int(); numbered {
			if first := firstSlot(slot, name); first != "" {
				add := addTo(slot, first)
				add.SetInt(fmt.Sprintf("slot%d_MachineLastMatchTime", id), now.Unix())
				ads = append(ads, add)
			}
		}
	}
	return ads
}

// addTo returns an ad with what tells a slot of this name, on the machine of another slot, from all
// others.
func addTo(slot *classad.ClassAd, name string) *classad.ClassAd {
	ad := classad.New()
	ad.SetString("Name", name)
	for _, attribute := range []string{"MyAddress", "StartdIpAddr"} {
		if address, given := slot.Literal(attribute).Text(); given {
			ad.SetString(attribute, address)
		}
	}
	return ad
}

// firstSlot returns the name of the slot that has what is told of all slots of a machine.
func firstSlot(slot *classad.ClassAd, name string) string {
	if first, given := slot.Literal("OfflinePrimarySlotName").Text(); given {
		return first
	}
	local, machine, ok := strings.Cut(name, "@")
	digits := strings.IndexAny(local, "0123456789")
	if !ok || digits < 0 {
		return ""
	}
	return local[:digits] + "1@" + machine
}
