// Package slurm reads what Slurm writes: accountings of jobs, and the nodes of a cluster.
//
// [Read] makes a trace of what sacct prints with -P (--parsable2), --parsable or --json. It reads a job at a time,
// and keeps some two hundred bytes of each, and no text. The README of package workload says field by field what
// becomes of it. [IsJobs] recognises an accounting by how it begins.
//
// [ReadNodes] reads the nodes of a pool as scontrol show node or sinfo prints them; [IsNodes] recognises them.
//
// A tour of the files:
//
//   - slurm.go: reading, and which jobs are kept
//   - record.go: what a row or an object says of a job; identity.go, which job it is of
//   - table.go: rows and their delimiters; columns.go, what is read of each column
//   - json.go: objects; json_read.go, one after the other, with lines for errors
//   - collect.go: jobs of several records: executions, components, tasks
//   - amounts.go and times.go: how Slurm writes them
//   - recognise.go: what a text is
//   - nodes.go: nodes of scontrol; sinfo.go, tables of sinfo; hostlist.go, names such as n[001-004]
//
// All times are whole seconds, memory is in MiB. Slurm's documentation of sacct says what columns mean:
// https://slurm.schedmd.com/sacct.html.
package slurm
