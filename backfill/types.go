package backfill

import "github.com/condor-backfill/condor-backfill/backfill/profile"

// The types that the core shares with the availability profile, under the names that a policy uses.
type (
	// Time is an instant or a length of time in whole seconds.
	Time = profile.Time
	// Vector is an amount of each of the pool's resources, in the pool's order;
	// the first is always cpus.
	Vector = profile.Vector
	// SlotID is a slot's index in the pool.
	SlotID = profile.SlotID
	// BundleID is a bundle's index in the pool.
	BundleID = profile.BundleID
	// Chunks are a number of a job's chunks on one slot: Chunks{Slot: SlotID, Count: int}.
	Chunks = profile.Chunks
	// Placement says how many chunks of a job sit on which slots: []Chunks, each slot once.
	Placement = profile.Placement
	// Candidates are the slots, or bundles, that matchmaking allows a job.
	Candidates = profile.Candidates
	// Window is when jobs may begin on a candidate.
	Window = profile.Window
	// RowID is a row's index in the pool.
	RowID = profile.RowID
	// Take is what a job takes of a row.
	Take = profile.Take
	// CandidatesMemory is where candidates are in memory.
	CandidatesMemory = profile.Memory
)

// Forever is later than any instant that is planned for.
const Forever = profile.Forever

// Unforeseen is the only window of a candidate that is closed, and of which nobody can tell when it opens:
// it lies before all time.
func Unforeseen() Window { return profile.Unforeseen() }
