package pools

// GPUJobs says which jobs of a trace, which say nothing of GPUs, ask for some: those of users who are drawn by
// their names, so that they are the same under every policy and seed.
type GPUJobs struct {
	// Share is the most that their jobs are of the work of all, from 0 to 1.
	Share float64
	// PerChunk is how many GPUs each chunk asks for.
	PerChunk int64
}

// gpuJobs is the YAML form of [GPUJobs].
type gpuJobs struct {
	Share    float64 `yaml:"share"`
	PerChunk *int64  `yaml:"per_chunk"` // nil: 1
}

// addGPUJobs says which jobs ask for GPUs.
func (b *builder) addGPUJobs() error {
	d := b.d.GPUJobs
	switch {
	case d == nil && b.has("gpu_jobs"):
		return b.wrong("gpu_jobs", "says nothing: give a share, or leave it out")
	case d == nil:
		return nil
	case b.pool.Capacity()["gpus"] == 0:
		return b.wrong("gpu_jobs", "no slot has GPUs: give a class some")
	case !(d.Share > 0 && d.Share <= 1):
		return b.wrong("gpu_jobs.share", "%v: must be above 0, and 1 at most", d.Share)
	}
	b.pool.GPUJobs = &GPUJobs{Share: d.Share, PerChunk: 1}
	if d.PerChunk != nil {
		b.pool.GPUJobs.PerChunk = *d.PerChunk
	}
	if b.pool.GPUJobs.PerChunk < 1 {
		return b.wrong("gpu_jobs.per_chunk", "%d: must be at least 1", b.pool.GPUJobs.PerChunk)
	}
	return nil
}
