package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Ads is a list of ads that queries are answered from. It does not change, so it remembers which
// ads the last constraints wanted. Queries may share it concurrently.
type Ads struct {
	n     int
	at    func(i int) *classad.ClassAd
	lines func() []cedar.Lines // of all ads, made once; nil: each answer writes the ads anew

	mu     sync.Mutex
	wanted []selection // the last one used comes first
}

// selection is what a constraint has selected: the indexes of ads.
type selection struct {
	constraint string
	ads        []int32
}

// What a list remembers: at most mostSelections, for constraints of up to longestRemembered bytes.
const (
	mostSelections    = 16
	longestRemembered = 1024
)

// NewAds makes a list of ads, which must not change from now on.
func NewAds(all ...*classad.ClassAd) *Ads {
	return MakeAds(len(all), func(i int) *classad.ClassAd { return all[i] })
}

// MakeAds makes a list of n ads, each of which the callback makes when it is sent. So an answer
// that is read slowly needs no more memory than what the callback knows.
func MakeAds(n int, at func(i int) *classad.ClassAd) *Ads { return &Ads{n: n, at: at} }

// WriteAds is MakeAds for ads that are written once, for all who ask for whole ads: to write them
// takes a turn, to send them none.
func WriteAds(n int, at func(i int) *classad.ClassAd) *Ads {
	a := MakeAds(n, at)
	a.lines = sync.OnceValue(func() []cedar.Lines {
		var text cedar.Lines
		ends, all := make([]int, a.n), make([]cedar.Lines, a.n)
		for i := range ends {
			text = cedar.AppendAd(text, classad.Public(at(i)))
			ends[i] = len(text)
		}
		text = bytes.Clone(text) // without the room that it has left
		for i, end := range ends {
			all[i] = text[:end]
			if i > 0 {
				all[i] = text[ends[i-1]:end]
			}
		}
		return all
	})
	return a
}

// written writes the ads, if they are to be written once.
func (a *Ads) written() *Ads {
	if a.lines != nil {
		a.lines()
	}
	return a
}

// All returns the ads.
func (a *Ads) All() []*classad.ClassAd {
	all := make([]*classad.ClassAd, a.n)
	for i := range all {
		all[i] = a.at(i)
	}
	return all
}

// remembered returns what a constraint has selected before.
func (a *Ads) remembered(constraint string) ([]int32, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, s := range a.wanted {
		if s.constraint == constraint {
			copy(a.wanted[1:i+1], a.wanted[:i])
			a.wanted[0] = s
			return s.ads, true
		}
	}
	return nil, false
}

func (a *Ads) remember(s selection) {
	if len(s.constraint) > longestRemembered {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = append([]selection{s}, a.wanted[:min(len(a.wanted), mostSelections-1)]...)
}

// mostSteps limits the steps of a whole query, which take less than a second: thirty for each of
// 100,000 ads.
const mostSteps = 3_000_000

// errExpensive says that a query is not answered.
var errExpensive = errors.New("its constraint takes too many steps: ask for less, or for all and choose from that")

// selects returns the indexes of the ads that match the query, which sees the host besides. It gives up
// when stop returns an error.
func (a *Ads) selects(q Query, host *classad.Host, stop func() error) ([]int32, error) {
	chosen := []int32{}
	var meter classad.Meter
	scope := classad.Scope{Host: host, MaxSteps: classad.FewSteps, Meter: &meter}
	for i := range a.n {
		if err := stop(); err != nil {
			return nil, err
		}
		ad := a.at(i)
		scope.My, scope.Target = ad, ad
		if q.Requirements.Eval(scope).IsTrue() {
			chosen = append(chosen, int32(i)) //nolint:gosec // there are fewer ads
		}
		if meter.Exceeded() > 0 || meter.Steps() > mostSteps {
			return nil, errExpensive
		}
	}
	return chosen, nil
}

// choose returns the indexes of the ads that match the query; all says that all do. Only one query
// of an asker is evaluated at a time; one whose constraint is known does not wait. What a constraint
// selects that asks the clock is forgotten.
func (n *Negotiator) choose(ctx context.Context, call *security.Call, q Query, ads *Ads) (
	chosen []int32, all bool, err error,
) {
	if q.Requirements == nil {
		return nil, true, nil
	}
	constraint := q.Requirements.String()
	chosen, known := ads.remembered(constraint)
	if !known {
		done, err := n.turns.takeFor(ctx, call)
		if err != nil {
			return nil, false, err
		}
		defer done()
		if chosen, known = ads.remembered(constraint); !known { // another one may have asked the same
			now, clocked := n.now().Unix(), false
			host := &classad.Host{Now: func() int64 { clocked = true; return now }}
			if chosen, err = ads.selects(q, host, interest(ctx, call.Stream)); err != nil {
				return nil, false, err
			}
			if !clocked {
				ads.remember(selection{constraint, chosen})
			}
		}
	}
	return chosen, len(chosen) == ads.n, nil
}

// answer sends those of the ads that match the query, without private attributes.
func (n *Negotiator) answer(ctx context.Context, call *security.Call, q Query, ads *Ads) error {
	chosen, all, err := n.choose(ctx, call, q, ads)
	if err != nil {
		return err
	}
	count := len(chosen)
	if all {
		count = ads.n
	}
	if q.Limit > 0 {
		count = min(count, q.Limit)
	}
	index := func(i int) int {
		if all {
			return i
		}
		return int(chosen[i])
	}
	stop := interest(ctx, call.Stream)
	for from := 0; from < count; {
		lines, err := n.write(ctx, call, q, ads, index, from, count)
		if err != nil {
			return err
		}
		from += len(lines)
		for _, l := range lines {
			if err = cmp.Or(stop(), call.Unsent()); err != nil {
				return err
			}
			call.PutInt(1)
			call.PutLines(l)
		}
	}
	call.PutInt(0)
	return call.Send()
}

// A turn ends after so many ads or bytes. The bytes are what a client that reads slowly keeps in
// memory; lists of few ads take no turn.
const (
	adsPerTurn   = 4096
	bytesPerTurn = 256 << 10
	adsOfNoTurn  = 64
)

// write returns the next ads from one on, as far as the query asks for them and without private
// attributes. If there are many that must be written for it, that takes a turn, which ends before
// they are sent: a client that reads slowly holds none.
func (n *Negotiator) write(
	ctx context.Context, call *security.Call, q Query, ads *Ads, index func(i int) int, from, count int,
) (lines []cedar.Lines, err error) {
	if ads.lines != nil && len(q.Projection) == 0 {
		for i := from; i < min(from+adsPerTurn, count); i++ {
			lines = append(lines, ads.lines()[index(i)])
		}
		return lines, nil
	}
	if ads.n > adsOfNoTurn {
		wait := n.turns.takeFor
		if from > 0 {
			wait = n.turns.goOn
		}
		done, err := wait(ctx, call)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	size := 0
	for i := from; i < min(from+adsPerTurn, count) && size < bytesPerTurn; i++ {
		var l cedar.Lines
		if ads.lines != nil {
			l = q.projectLines(ads.lines()[index(i)])
		} else {
			l = cedar.AppendAd(nil, classad.Public(q.Project(ads.at(index(i)))))
		}
		lines, size = append(lines, l), size+len(l)
	}
	return lines, nil
}

// interest returns a function that is called between ads. It returns an error once the context has
// ended or, at the first call and some later ones, if the client has hung up.
func interest(ctx context.Context, s *cedar.Stream) func() error {
	calls := 0
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if calls++; calls%16 == 1 && s.HungUp() {
			return fmt.Errorf("the client does not wait for the answer: %w", io.ErrClosedPipe)
		}
		return nil
	}
}
