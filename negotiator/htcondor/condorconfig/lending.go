package condorconfig

import "strings"

// leaseAttribute is the attribute of a claimed slot that is true of the jobs that its claim is lent to.
const leaseAttribute = "NegotiatorMatchExprBackfillLease"

// StartLine is the line of a startd's configuration by which a claim that is lent ends in time, whatever
// jobs its schedd has.
const StartLine = "START = ($(START)) && (MY." + leaseAttribute + " is undefined || MY." + leaseAttribute + ")"

// HeedsLeases reports whether a slot's START has what that line adds.
func HeedsLeases(start string) bool {
	return strings.Contains(strings.ToLower(start), strings.ToLower(leaseAttribute))
}
