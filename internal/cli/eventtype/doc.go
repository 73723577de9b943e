// Package eventtype has `holdfast event-type`: the declared types of the events that own services publish.
package eventtype
