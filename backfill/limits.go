package backfill

// Every amount, time and number that comes from outside is held to these limits where it is read,
// so that sums and products of them stay far from overflow. They are untyped, for int64, int,
// float64 and [Time] alike.
const (
	// MaxAmount limits what a slot has of a resource, and what all chunks of a job need of it.
	MaxAmount = 1_000_000_000_000_000
	// MaxInputAmount limits amounts in descriptions of pools and in histories, which may be in MiB:
	// in bytes, 2^20 times as many, they still fit an int64.
	MaxInputAmount = 1_000_000_000_000
	// MaxTime limits lengths of time, in seconds: some 35,000 years.
	MaxTime = 1 << 40
	// MaxChunks limits the chunks of a job.
	MaxChunks = 1 << 20
	// MaxSlots limits the slots of a pool that is described or restored as plain data.
	MaxSlots = 1 << 20
)
