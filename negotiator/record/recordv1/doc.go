// Package recordv1 is generated from record.proto: the entries of a record.
package recordv1
