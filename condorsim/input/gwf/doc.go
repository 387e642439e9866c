// Package gwf reads traces in the Grid Workloads Format, that of the Grid Workloads Archive: a line for each
// job with 29 fields, the first of which are those of the Standard Workload Format. The README of package
// workload says what becomes of each field.
//
//   - [Read] (gwf.go) reads a trace in one pass.
//   - fields.go names the fields, and reads the numbers of a line.
package gwf
