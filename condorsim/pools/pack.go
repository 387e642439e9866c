package pools

// Pack says how a trace's job of p processors, which knows no slots, is cut into
// chunks for them. The zero value makes p chunks of one cpu.
type Pack struct {
	// ChunkCpus is the most cpus that a chunk has. A job has as few chunks as that
	// allows, all of the same size.
	ChunkCpus int64
	// WholeSlots gives each chunk a slot for itself.
	WholeSlots bool
}

// Chunks cuts a job: into so many chunks, each of so many cpus and so much memory.
// The chunks together may have a little more than was asked for, as they are all
// alike.
func (p Pack) Chunks(cpus, memory int64) (nodes, chunkCpus, chunkMemory int64) {
	most := max(p.ChunkCpus, 1)
	nodes = ceil(cpus, most)
	return nodes, ceil(cpus, nodes), ceil(memory, nodes)
}

// ceil is a/b, rounded up, of an a that is not negative.
func ceil(a, b int64) int64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}

// Whole is the resource of which each slot has one and a chunk that wants the slot
// for itself asks for one; see [Pack.WholeSlots].
const Whole = "slots"
