package postgres

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
)

// ByteaArray is a bytea[] parameter that is encoded into a buffer of the right size. The driver would start each statement with
// 256 bytes, and copy everything each time the buffer grows.
type ByteaArray = pgtype.FlatArray[[]byte]

// registerTypes makes a connection encode such parameters in that way, and read times in UTC.
func registerTypes(m *pgtype.Map) {
	inUTC := &pgtype.TimestamptzCodec{ScanLocation: time.UTC}
	m.RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: inUTC})
	known, ok := m.TypeForOID(pgtype.ByteaArrayOID)
	if !ok {
		return
	}
	if codec, ok := known.Codec.(*pgtype.ArrayCodec); ok {
		m.RegisterType(&pgtype.Type{Name: known.Name, OID: known.OID, Codec: byteaArrayCodec{codec}})
	}
}

// TimeOrZero scans a time, and NULL as the zero time.
func TimeOrZero(into *time.Time) any { return (*zeronull.Timestamptz)(into) }

// TextOrEmpty scans a text, and NULL as "".
func TextOrEmpty(into *string) any { return (*zeronull.Text)(into) }

type byteaArrayCodec struct{ *pgtype.ArrayCodec }

// PlanEncode implements pgtype.Codec.
func (c byteaArrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	plan := c.ArrayCodec.PlanEncode(m, oid, format, value)
	if _, ok := value.(ByteaArray); ok && plan != nil {
		return byteaArrayPlan{plan}
	}
	return plan
}

type byteaArrayPlan struct{ pgtype.EncodePlan }

// Encode implements pgtype.EncodePlan.
func (p byteaArrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	const header, length = 20, 4 // in bytes: of an array, and of each of its elements
	room := header
	for _, element := range value.(ByteaArray) {
		room += length + len(element)
	}
	return p.EncodePlan.Encode(value, slices.Grow(buf, room))
}
