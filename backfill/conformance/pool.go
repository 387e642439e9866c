package conformance

// Kinds are kinds of pools that a policy knows besides plain ones; see the constants of these names.
type Kinds struct {
	Partitioned, Deferred, Shallow, Windowed, Limited, Ending, Sparing, Preempting bool
}

// Pool returns the seed of the nth pool of those on which a policy is judged, of which the first has the
// given seed. Every fourth is [Partitioned], every fourth [Deferred], every fourth [Shallow], every
// eighth [Windowed], every eighth [Limited], every eighth but the first [Ending] or [Sparing], and every
// other partitioned one [Preempting] besides, as far as the policy knows them. One that does not know partitioned pools gets plain ones.
func Pool(n int, first uint64, knows Kinds) uint64 {
	seed := first + uint64(n)
	switch {
	case !knows.Partitioned:
		return seed % Partitioned
	case n%8 == 7 && knows.Preempting:
		return Partitioned + Preempting + seed
	case n%4 == 3:
		return Partitioned + seed
	case n%4 == 1 && knows.Deferred:
		return Deferred | seed
	case n%8 == 6 && knows.Limited:
		return Limited | seed
	case n%4 == 2 && knows.Shallow:
		return Shallow | seed
	case n%8 == 4 && knows.Windowed:
		return Windowed | seed
	case n%16 == 8 && knows.Ending:
		return Ending | seed
	case n%16 == 0 && n > 0 && knows.Sparing:
		return Sparing | seed
	default:
		return seed
	}
}
