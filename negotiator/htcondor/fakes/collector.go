package fakes

import (
	"container/list"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

func port(n int) string { return strconv.Itoa(n) }

// Collector holds ads and answers queries.
type Collector struct {
	Daemon

	mu      sync.Mutex
	ads     map[string]*shelf // by type
	updates []Update
	garble  func(line string) string
}

// shelf holds ads in the order in which they came. It looks for a name without looking at all ads,
// of which an attack may make the negotiator send thousands each cycle.
type shelf struct {
	ads   list.List                  // of *classad.ClassAd
	named map[string][]*list.Element // by Name; "": ads without one
}

func nameOf(ad *classad.ClassAd) string {
	name, _ := ad.Text("Name")
	return name
}

func (s *shelf) put(ad *classad.ClassAd) {
	name := nameOf(ad)
	s.named[name] = append(s.named[name], s.ads.PushBack(ad))
}

// take removes the ads of a name.
func (s *shelf) take(name string) {
	for _, e := range s.named[name] {
		s.ads.Remove(e)
	}
	delete(s.named, name)
}

// all returns the ads in a slice of their own.
func (s *shelf) all() []*classad.ClassAd {
	all := make([]*classad.ClassAd, 0, s.ads.Len())
	for e := s.ads.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*classad.ClassAd)) //nolint:forcetypeassert // there are no others
	}
	return all
}

// Update is an ad that was sent to the collector.
type Update struct {
	// Command is 49 for a Negotiator ad, 77 Accounting, 58 any other; 51 and 59 take a Negotiator's or
	// another ad back, and 73 adds to that of a slot.
	Command int
	Ad      *classad.ClassAd
	User    string
}

// updated maps the commands of updates to the types of their ads.
var updated = map[int]string{49: "Negotiator", 77: "Accounting"}

// NewCollector starts a collector without ads.
func NewCollector(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{ads: map[string]*shelf{}}
	handlers := map[int]server.Handler{}
	for _, command := range []int{53, 54, 50, 5, 6, 12} {
		handlers[command] = server.Handler{Name: "QUERY", Serve: c.query}
	}
	for _, command := range []int{49, 51, 58, 59, 73, 77} {
		handlers[command] = server.Handler{Name: "UPDATE", Serve: c.update}
	}
	c.start(tb, "COLLECTOR", handlers)
	return c
}

// Set replaces all ads of a type (Machine, MachinePrivate, Submitter, Scheduler…) by these, given
// as lines.
func (c *Collector) Set(adType string, ads ...string) {
	c.t.Helper()
	c.SetAds(adType, c.parse(ads)...)
}

// SetAds is Set with parsed ads.
func (c *Collector) SetAds(adType string, ads ...*classad.ClassAd) {
	for _, ad := range ads {
		if _, given := ad.Lookup("MyType"); !given {
			ad.SetString("MyType", strings.TrimSuffix(adType, "Private"))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ads, adType)
	for _, ad := range ads {
		c.of(adType).put(ad)
	}
}

// of returns the ads of a type. It needs the lock.
func (c *Collector) of(adType string) *shelf {
	if c.ads[adType] == nil {
		c.ads[adType] = &shelf{named: map[string][]*list.Element{}}
	}
	return c.ads[adType]
}

// Garble applies a function to each line that the collector sends; nil turns it off.
func (c *Collector) Garble(how func(line string) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.garble = how
}

// Ads returns the ads of a type that the collector has: those it was given and those it received.
func (c *Collector) Ads(adType string) []*classad.ClassAd {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(adType).all()
}

// mostUpdates is how many updates are kept: some attack for hours, with thousands in each cycle.
const mostUpdates = 1000

// Updates returns the last updates, in order: at least [mostUpdates], if there were as many.
func (c *Collector) Updates() []Update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.updates)
}

func (c *Collector) query(_ context.Context, call *security.Call) error {
	q, err := server.ReadQuery(call)
	if err != nil {
		return err
	}
	wanted, _ := q.Ad.Bool("SendPrivateAttributes")
	private := wanted && call.Command == 54
	for _, adType := range q.Types() {
		part := q
		if call.Command == 53 || call.Command == 54 {
			if part, err = q.Of(adType); err != nil {
				return err
			}
		}
		if adType == "MachinePrivate" && call.Command != 54 {
			continue
		}
		for _, ad := range c.Ads(adType) {
			if !part.Wants(ad) {
				continue
			}
			call.PutInt(1)
			c.put(call, shown(part.Project(ad), private))
		}
	}
	call.PutInt(0)
	return call.Send()
}

// shown returns an ad without its private attributes, unless these are wanted.
func shown(ad *classad.ClassAd, private bool) *classad.ClassAd {
	if private {
		return ad
	}
	return classad.Public(ad)
}

func (c *Collector) put(call *security.Call, ad *classad.ClassAd) {
	c.mu.Lock()
	garble := c.garble
	c.mu.Unlock()
	if garble == nil {
		call.PutAd(ad)
		return
	}
	lines := strings.Split(strings.TrimSuffix(ad.Format(classad.Lines), "\n"), "\n")
	call.PutInt(int64(len(lines)))
	for _, line := range lines {
		call.PutString(garble(line))
	}
	call.PutString("")
	call.PutString("")
}

func (c *Collector) update(_ context.Context, call *security.Call) error {
	command := call.Command
	for {
		ad, err := call.Ad()
		if err == nil {
			err = call.End()
		}
		if err != nil {
			return err
		}
		c.note(Update{Command: command, Ad: ad, User: call.Peer.User})
		next, err := call.IntIn("a command", 0, 1<<16)
		if hungUp(err) {
			return nil
		} else if err != nil {
			return err
		}
		command = next
	}
}

func (c *Collector) note(u Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.updates) == 2*mostUpdates {
		c.updates = slices.Delete(c.updates, 0, mostUpdates)
	}
	c.updates = append(c.updates, u)
	if u.Command == 73 {
		c.merge(u.Ad)
		return
	}
	adType, isUpdate := updated[u.Command]
	switch u.Command {
	case 58:
		adType, _ = u.Ad.Text("MyType")
		isUpdate = true
	case 51, 59:
		adType, _ = u.Ad.Text("TargetType")
	}
	c.of(adType).take(nameOf(u.Ad))
	if isUpdate {
		c.of(adType).put(u.Ad)
	}
}

// merge adds attributes to the ad of a slot, if there is one. Who has the ad keeps it as it was.
func (c *Collector) merge(more *classad.ClassAd) {
	for _, e := range c.of("Machine").named[nameOf(more)] {
		merged := e.Value.(*classad.ClassAd).Clone() //nolint:forcetypeassert // there are no others
		for attribute, e := range more.All() {
			_ = merged.SetExpr(attribute, e.String()) // it was read from such a text
		}
		e.Value = merged
	}
}
