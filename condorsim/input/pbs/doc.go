// Package pbs reads what the servers of OpenPBS, PBS Professional and Torque write of jobs: their
// accounting logs, of one day or of several, one behind the other. The README of package workload says
// what becomes of each field.
//
//   - [Read] (log.go) reads a log in one pass and makes a trace of it: the record of a job's end has almost
//     all, and those before it say what became of jobs without one.
//   - fields.go cuts a record into its fields, and reads numbers, sizes and durations.
//   - request.go reads what a job asked for: Resource_List.select with its chunks, nodes of Torque, and the
//     resources of the whole job.
//   - places.go reads what it got: exec_vnode and exec_host.
//   - [ReadNodes] (nodes.go) reads the nodes of a cluster, as pbsnodes prints them.
package pbs
