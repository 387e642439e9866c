package picture

// Part is what one of several negotiators of a pool has, on slots of its own.
type Part struct {
	Negotiator string `json:"negotiator"`
	// Own says that the page is this negotiator's; else Page is the address of its page, "": it has none.
	Own  bool   `json:"own,omitempty"`
	Page string `json:"page,omitempty"`
	Has
}

// Has is how many slots and cpus there are, how many of these are in use, and how many jobs run and wait.
type Has struct {
	Slots   int64 `json:"slots"`
	Cpus    int64 `json:"cpus"`
	InUse   int64 `json:"in_use"`
	Running int64 `json:"running"`
	Waiting int64 `json:"waiting"`
}

// WholeOf adds up what several negotiators have; nil: there are none. No slot is of two of them, so a job
// that runs is counted once. A job that waits is in the queue of each, so the longest queue counts.
func WholeOf(parts []Part) *Has {
	if len(parts) == 0 {
		return nil
	}
	var all Has
	for _, p := range parts {
		all.Slots += p.Slots
		all.Cpus += p.Cpus
		all.InUse += p.InUse
		all.Running += p.Running
		all.Waiting = max(all.Waiting, p.Waiting)
	}
	return &all
}
