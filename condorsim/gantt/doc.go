// Package gantt makes a page that shows which job ran where and when: one HTML
// file that needs no network, zooms and pans smoothly over tens of thousands of
// jobs, and tells of each job what it was promised and what it got.
//
// A tour:
//
//   - [New] takes a finished simulation and gives a [Chart]; [Chart.Write] writes
//     the page.
//   - pack.go finds the lanes: which cpus of its slots a job is drawn on. The
//     simulator does not say; it only counts them.
//   - encode.go puts the jobs into columns of small numbers, some 25 bytes a job.
//   - assets/*.js read the columns back (data.js), keep what is seen (view.js),
//     draw it (draw.js, overview.js) and answer to the reader (panel.js, main.js).
package gantt
