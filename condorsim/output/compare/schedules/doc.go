// Package schedules reads what became of the jobs of a run, whoever wrote it down: a row for each job.
//
//   - schedules.go: [Row], [Schedule] and [Read], with the list of what is read;
//   - columns.go: which columns of tables are read;
//   - csv.go: tables of jobs as comma-separated values, plain or compressed;
//   - parquet.go: tables of jobs as Parquet;
//   - record.go: records of negotiators, real or simulated;
//   - foreign.go: says what a file looks like that is none of these.
//
// To read another kind of file, write a reader in a file of its own and a line in readers.
package schedules
