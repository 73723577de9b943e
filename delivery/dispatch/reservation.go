package dispatch

import "holdfast/delivery"

// reservation is a slot for a delivery that isn't leased from the queue.
type reservation struct {
	of   *Dispatcher
	slot *slot
	body payload
}

// Reserve implements delivery.Reserver. A dispatcher that stops reserves nothing.
func (d *Dispatcher) Reserve(destinationID int64, bodyBytes int) delivery.Reservation {
	s := d.slots.take(destinationID, &d.attempts)
	if s == nil {
		return nil
	}
	r := &reservation{d, s, payload{bytes: int64(bodyBytes)}}
	if !s.reserve(&r.body) {
		r.giveBack()
		return nil
	}
	return r
}

// Start implements delivery.Reservation.
func (r *reservation) Start(j delivery.Job, t delivery.Target, m delivery.Message) {
	go func() {
		defer r.of.attempts.Done()
		defer r.slot.release(&r.body)
		r.of.attempt(preparedJob{Job: j, slot: r.slot, target: t}, m, true)
	}()
}

// Free implements delivery.Reservation.
func (r *reservation) Free() {
	r.slot.release(&r.body)
	r.giveBack()
}

func (r *reservation) giveBack() {
	r.of.slots.free([]*slot{r.slot})
	r.of.attempts.Done()
}
