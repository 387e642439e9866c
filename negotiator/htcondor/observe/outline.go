package observe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// leftOutAttribute is added to what is left of an ad, and says which limit the ad is beyond: a
// positive number is one of bytes of memory, and there are others.
const leftOutAttribute = "BackfillLeftOut"

// Other limits than those of memory.
const (
	unreadable    = 0  // it cannot be read
	tooManyTokens = -1 // see maxGroupTokens
	tooLong       = -2 // see maxGroup
	readLater     = -3 // see reads
)

// What is left of an ad: of all jobs, and besides of those that hold slots, since their use is
// accounted and their end is planned with. The longest line is that of a running job's hosts.
var (
	keptOfAll     = set("JobStatus", "User", "AccountingGroup", "JobUniverse", "Scheduler")
	keptOfRunning = []string{"MaxHosts", "RemoteHost", "RemoteHosts", "JobCurrentStartDate", "QDate", "ConcurrencyLimits"}
)

const (
	maxKept          = 256
	maxKeptOfRunning = 64 << 10
)

// outline returns the lines that are left of an ad that is beyond a limit. Of a running job, the
// attributes in run are left, too.
func outline(lines []byte, run map[string]bool, limit int) []byte {
	runs := runs(lines)
	var left []byte
	for line := range bytes.SplitAfterSeq(lines, []byte{'\n'}) {
		name, _, _ := bytes.Cut(line, []byte(" = "))
		lower := strings.ToLower(string(name))
		if keptOfAll[lower] && len(line) <= maxKept || runs && run[lower] && len(line) <= maxKeptOfRunning {
			left = append(left, line...)
		}
	}
	return fmt.Appendf(left, "%s = %d\n", leftOutAttribute, limit)
}

// runs tells whether the jobs of an ad hold slots.
func runs(lines []byte) bool {
	status, _ := cedar.Lines(lines).Find("JobStatus")
	number, _ := strconv.ParseInt(string(status), 10, 64)
	return (&Group{Status: number}).Runs()
}

// leftOutBecause says why an ad was left out: it is beyond this limit.
func leftOutBecause(limit int64, user string) error {
	switch limit {
	case unreadable:
		return errors.New("its ad cannot be read: simplify its expressions, or write them anew")
	case tooManyTokens:
		return fmt.Errorf("its ad has more than %d names, constants and signs: shorten its expressions and what they "+
			"refer to", maxGroupTokens)
	case readLater:
		return errReadLater
	case tooLong:
		return fmt.Errorf("its ad has more than %d bytes: shorten its expressions and what they refer to", maxGroup)
	}
	return fmt.Errorf("its ad takes more than %d bytes of memory, and the queues are too large with all ads of %s: shorten the jobs' "+
		"expressions and what they refer to, or submit fewer different jobs", limit, cmp.Or(user, "its user"))
}
