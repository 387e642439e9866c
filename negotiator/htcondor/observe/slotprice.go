package observe

import (
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// Up to how many bytes, and names, constants and signs, a slot's ad is read: real ones have some
// thousand.
const (
	maxSlot       = 256 << 10
	maxSlotTokens = 32 << 10
)

// What the ads of all slots may take in bytes of memory, and those of one host. As many names,
// constants and signs of each are free as usual slots have, since they share these with others.
// Each slot has room to grow, so that what is known is never lost to a new one.
const (
	maxSlots       = 2 << 30
	maxSlotsOfHost = maxSlots / 8
	freeSlotTokens = 300
	slotGrows      = 512
)

// What it may take in a look to read ads of slots, like [readsOfAll]; one host may take its
// [accountant.Allowance] of that. It is for new ads up to usualSlotTokens, and apart from these for
// longer ones. Known slots with usual ads are always read.
const (
	usualSlotTokens = 2000
	newSlotReads    = 8_000_000
	longSlotReads   = 2_000_000
	slotFollows     = 2_000_000 // to follow what the ads of slots refer to, beyond usualReferSteps each
)

// slotReads are the memory that the slots take, by host, and what it has taken in a look to read
// them.
type slotReads struct {
	size       int
	hosts      map[string]int
	news, long reads
	follow     reads
}

// errSlotLater says that a slot's ad was not read yet.
var errSlotLater = errors.New("the slots of its host are too expensive to read: this goes on in the next cycles")

// count has the memory counted anew, since slots may be gone.
func (r *slotReads) count(slots map[string]*slotText) {
	r.size, r.hosts = 0, map[string]int{}
	for _, t := range slots {
		r.size += t.size
		r.hosts[t.host] += t.size
	}
}

// slotPrice returns what the ad of a slot takes, in bytes of memory. Of a dynamic slot, only the
// text is kept.
func slotPrice(lines cedar.Lines, tokens int) int {
	if dynamic, _ := lines.Find("DynamicSlot"); string(dynamic) == "true" {
		return len(lines)
	}
	return price(len(lines), max(0, tokens-freeSlotTokens))
}

// afford errs if the ad of a slot is too large to be read, or there is no room for it, or if it is
// to be read in a later look than that of this number, until which it stands as it was; t is nil if
// the slot is new. It returns the names, constants and signs of the ad.
func (r *slotReads) afford(t *slotText, lines cedar.Lines, host string, look int) (tokens int, err error) {
	if left, cut := lines.Find(client.LeftOut); cut {
		return 0, fmt.Errorf("its ad is too large: %s bytes are left out", left)
	}
	if len(lines) > maxSlot {
		return 0, fmt.Errorf("its ad has %d bytes: must be at most %d", len(lines), maxSlot)
	}
	if tokens = classad.Tokens(lines); tokens > maxSlotTokens {
		return 0, fmt.Errorf("its ad has %d names, constants and signs: must be at most %d", tokens, maxSlotTokens)
	}
	known := t != nil
	had := 0
	if known && t.host == host {
		had = t.size
	}
	more := slotPrice(lines, tokens) - had
	if more > 0 && (r.size+more > maxSlots || r.hosts[host]+more > maxSlotsOfHost) {
		return 0, fmt.Errorf("its ad takes %d more bytes of memory, and the slots of its host take %d and all take %d: "+
			"must be at most %d and %d", more, r.hosts[host], r.size, maxSlotsOfHost, maxSlots)
	}
	switch {
	case tokens > usualSlotTokens:
		if !r.long.within(host, longSlotReads) {
			if known {
				t.look = look
			}
			return 0, errSlotLater
		}
	case !known && !r.news.within(host, newSlotReads):
		return 0, errSlotLater
	}
	return tokens, nil
}

// chargeSlot begins to read the ad of a slot, and returns what notes how much it took.
func (o *Observer) chargeSlot(known bool, lines cedar.Lines, tokens int, host string) (done func()) {
	before := o.parser.Parsed()
	return func() {
		taken := o.parser.Parsed() - before + len(lines)/bytesPerRead
		if tokens > usualSlotTokens {
			o.slotReads.long.charge(host, taken)
		} else if !known {
			o.slotReads.news.charge(host, taken)
		}
	}
}

// keep notes that a slot has an ad that takes so many bytes of memory.
func (r *slotReads) keep(t *slotText, host string, size int) {
	if t.host == host && size <= t.size && t.size <= 2*(size+slotGrows) {
		return
	}
	if r.hosts == nil {
		r.hosts = map[string]int{}
	}
	size += slotGrows
	r.size += size - t.size
	r.hosts[t.host] -= t.size
	r.hosts[host] += size
	t.host, t.size = host, size
}

// hostOf returns the host of an address, as ads have it.
func hostOf(address string) string {
	a, err := cedar.ParseAddress(address)
	if err != nil {
		return ""
	}
	return a.Host
}
