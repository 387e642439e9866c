package observe

import (
	"bytes"
	"errors"
	"hash/maphash"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// What an ad takes in memory, at most. Of its text there are several copies: as it was read, as it
// is planned with, and in its values. A node of its trees, with its code, takes some 130 bytes,
// and there are no more of these than names, constants and signs.
const (
	copiesOfText  = 4
	bytesPerToken = 136
)

// price returns how much memory an ad takes, in bytes, with so many bytes of text.
func price(text, tokens int) int { return copiesOfText*text + bytesPerToken*tokens }

// priceAlone returns what an ad takes that shares nothing with others.
func priceAlone(lines []byte) int { return price(len(lines), classad.Tokens(lines)) }

// bytesPerJob is what a job takes beside its ad, in bytes of memory: in a look, and in what is made
// of it.
const bytesPerJob = 1536

// priceOfJobs returns how much memory the jobs with these IDs take.
func priceOfJobs(ids []byte) int { return price(len(ids), 0) + bytesPerJob*countIDs(ids) }

func countIDs(ids []byte) (n int) {
	for range bytes.FieldsSeq(ids) {
		n++
	}
	return n
}

// firstIDs returns the first IDs.
func firstIDs(ids []byte, most int) []byte {
	var kept []byte
	for id := range bytes.FieldsSeq(ids) {
		if most--; most < 0 {
			break
		}
		kept = append(append(kept, id...), ' ')
	}
	return kept
}

// waiting returns the number of a group's jobs, if they do not run.
func (g rawGroup) waiting() int {
	if runs(g.lines) {
		return 0
	}
	return countIDs(g.ids)
}

// kinds counts the expressions of a user's ads by their texts. Ads that have an expression in
// common share its tree, so it is paid for once.
type kinds map[uint64]int

// Only texts that the parser remembers are shared; short ones are not worth it.
const (
	longestShared = 4 << 10
	fewTokens     = 8
)

var kindSeed = maphash.MakeSeed()

// add takes in an ad, and returns by how much the price of all grows; remove is its inverse.
func (k kinds) add(lines []byte) int {
	return k.change(lines, func(kind uint64) bool { k[kind]++; return k[kind] == 1 })
}

func (k kinds) remove(lines []byte) int {
	return k.change(lines, func(kind uint64) bool {
		k[kind]--
		last := k[kind] == 0
		if last {
			delete(k, kind)
		}
		return last
	})
}

func (k kinds) change(lines []byte, alone func(kind uint64) bool) int {
	all := 0
	for line := range bytes.Lines(lines) {
		tokens := classad.Tokens(line)
		if tokens > fewTokens && len(line) <= longestShared {
			if _, value, _ := bytes.Cut(line, []byte{'='}); !alone(maphash.Bytes(kindSeed, value)) {
				tokens = 2
			}
		}
		all += tokens
	}
	return price(len(lines), all)
}

// What it takes to read ads that are new, in names, constants and signs; a microsecond each. In a
// look all users together may take readsOfAll, and each his [accountant.Allowance] of that.
// Expressions that other ads have, too, are read once, so a hundred thousand new jobs take a tenth
// of it.
const (
	readsOfAll   = 2_000_000
	bytesPerRead = 256 // of an ad's text
	stepsPerRead = 20  // of the evaluation of its attributes
)

// reads are what it has taken in a look to read new ads.
type reads struct {
	all   int
	users map[string]int
}

// may tells whether another ad of a user may be read in this look.
func (r *reads) may(user string) bool { return r.within(user, readsOfAll) }

func (r *reads) within(user string, all int) bool {
	own := r.users[user]
	return own < accountant.Allowance(all, r.all, own)
}

func (r *reads) charge(user string, taken int) {
	if r.users == nil {
		r.users = map[string]int{}
	}
	r.users[user] += taken
	r.all += taken
}

// used returns what reading ads has taken since the start.
func (o *Observer) used() int { return o.parser.Parsed() + o.again + int(o.meter.Steps())/stepsPerRead }

// value returns the value of an attribute of an ad that a stranger wrote, and charges what it
// takes.
func (o *Observer) value(ad *classad.ClassAd, name string) classad.Value {
	v, _ := negotiator.EvaluateMetered(ad, name, &o.meter) // it is an error if it is too expensive
	return v
}

// errReadLater says that a job's ad was not read yet.
var errReadLater = errors.New("the jobs of its user are too expensive to read: this goes on in the next cycles")
