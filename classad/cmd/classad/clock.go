package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// clock is the flag of the commands that evaluate.
type clock struct {
	Time *instant `help:"Evaluate at this time, by default now: such as 2026-11-28T20:00:00Z, '2026-11-28 20:00' (local time), or seconds since 1970." placeholder:"TIME"` //nolint:lll // a tag
}

// worldHelp is what the help of these commands says of it.
const worldHelp = `time() and CurrentTime are the time of --time, local times are those of the machine's zone ` +
	`(TZ), and random() gives numbers that follow from that time and the ads: with the same --time the same command prints the same.`

// world returns what evaluations learn from outside the ads; it asks the machine's clock at most
// once, so that all ads are evaluated at the same instant.
func (c clock) world() world {
	if c.Time != nil {
		return world{*c.Time}
	}
	return world{instant(time.Now().Unix())}
}

// instant is a time in seconds since 1970.
type instant int64

// lastInstant is the end of the year 9999, which times of ads do not exceed either.
const lastInstant = 253_402_300_799

// instantLayouts are those of an instant; without a zone it is in local time.
var instantLayouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04",
}

// UnmarshalText reads an instant.
func (t *instant) UnmarshalText(text []byte) error {
	seconds, err := strconv.ParseInt(string(text), 10, 64)
	for _, layout := range instantLayouts {
		if err == nil {
			break
		}
		var at time.Time
		at, err = time.ParseInLocation(layout, string(text), time.Local)
		seconds = at.Unix()
	}
	if err != nil || seconds < 0 || seconds > lastInstant {
		return fmt.Errorf("%q: must be such as 2026-11-28T20:00:00Z, \"2026-11-28 20:00\" (local time), "+
			"or seconds since 1970, until the year 9999", text)
	}
	*t = instant(seconds)
	return nil
}

// world is what commands know besides the ads.
type world struct{ now instant }

// scope returns the scope in which an ad is evaluated, with another one as the target. Random numbers
// follow from the instant and the ads alone: every evaluation that begins anew draws the same.
func (w world) scope(my, target *classad.ClassAd) classad.Scope {
	var source *rand.Rand // made when it is needed: few ads need it, and to print ads takes long
	random := func() float64 {
		if source == nil {
			source = rand.New(rand.NewChaCha8(w.seed(my, target))) //nolint:gosec // not for secrets
		}
		return source.Float64()
	}
	return classad.Scope{My: my, Target: target, Host: &classad.Host{
		Now: func() int64 { return int64(w.now) }, Zone: time.Local, Random: random,
	}}
}

// seed returns the seed of the random numbers of an ad and its target, either of which may be nil.
func (w world) seed(my, target *classad.ClassAd) [sha256.Size]byte {
	hash := sha256.New()
	_, _ = fmt.Fprint(hash, int64(w.now))
	for _, ad := range []*classad.ClassAd{my, target} {
		if ad == nil {
			ad = classad.New()
		}
		_, _ = fmt.Fprintf(hash, "\n%s", ad)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// accepts reports whether other meets the Requirements of ad.
func (w world) accepts(ad, other *classad.ClassAd) bool {
	return w.pair(ad, other).RightMatchesLeft()
}

// pair returns the ads for a single evaluation, of an expression of the left one.
func (w world) pair(left, right *classad.ClassAd) classad.Pair {
	return classad.Pair{Left: left, Right: right, Host: w.scope(left, right).Host}
}
