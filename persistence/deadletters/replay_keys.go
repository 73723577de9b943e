package deadletters

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
)

// The bounds of a plan's parses: an operator waits for it, in a process that also has other work.
const (
	parsedPage     = 1000
	maxParsed      = 10 * parsedPage // dead letters
	maxParsedBytes = 64 << 20
	parseFor       = 5 * time.Second
)

// selectCorrectable reads those of some dead letters that the current definitions may identify in another way. An edited body may
// be another one, whatever its definition.
const selectCorrectable = `
SELECT id, receipt, raw_body FROM dead_letters
 WHERE id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT id, octet_length(raw_body) AS size FROM dead_letters AS d
               WHERE id = ANY ($1::bigint[]) AND id > $2 AND subscription_id = 0
                 AND (receipt->>'replaces' <> ''
                      OR NOT EXISTS (SELECT FROM unnest($3::text[], $4::text[]) AS now (provider, digest)
                                      WHERE now.provider = d.provider AND now.digest = d.receipt->>'definition'))) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY id`

// PlanKeys adds to the plan of a replay how the current definitions identify its events: it parses the bodies of those that were
// accepted under another definition, and may stop early. definitions has the digests by provider. first bounds the dead letters
// that it looks at; 0 means 10,000, which is the most.
func (s *Replays) PlanKeys(
	ctx context.Context, f operation.ReplayFilter, first int, parse event.Parser, definitions map[string]string,
	plan *operation.ReplayPlan,
) error {
	if first <= 0 {
		first = maxParsed
	}
	k := &keyPlan{
		store: s, parse: parse, plan: plan, first: min(first, maxParsed), until: time.Now().Add(parseFor),
		planned: map[[2]string]event.Receipt{},
	}
	for provider, digest := range definitions {
		k.providers, k.digests = append(k.providers, postgres.Clean(provider)), append(k.digests, digest)
	}
	return postgres.Failure("plan keys of a replay", k.run(ctx, f))
}

// keyPlan is a plan whose events are being parsed.
type keyPlan struct {
	store              *Replays
	parse              event.Parser
	plan               *operation.ReplayPlan
	first              int
	until              time.Time
	providers, digests []string
	bytes              int
	planned            map[[2]string]event.Receipt // the first event of the plan by each corrected key
}

func (k *keyPlan) run(ctx context.Context, f operation.ReplayFilter) error {
	after, n := int64(0), 0
	for {
		list := postgres.NewList(`SELECT id FROM dead_letters`)
		list.Where("id > %s", after)
		replayable(list, f)
		sql := list.Statement() + fmt.Sprintf(" ORDER BY id LIMIT %d", min(parsedPage, k.first-n+1))
		ids, err := pgx.CollectRows(k.store.DB.Rows(ctx, sql, list.Args...), pgx.RowTo[int64])
		if err != nil || len(ids) == 0 {
			return err
		}
		over := n+len(ids) > k.first
		if over {
			ids = ids[:k.first-n]
		}
		if err := k.parseAll(ctx, ids); err != nil || k.plan.AtLeast {
			return err
		}
		if k.plan.AtLeast = over; over {
			return nil
		}
		n += len(ids)
		after = ids[len(ids)-1]
	}
}

func (k *keyPlan) parseAll(ctx context.Context, ids []int64) error {
	for after := int64(0); ; {
		letters, err := pgx.CollectRows(
			k.store.DB.Rows(ctx, selectCorrectable, ids, after, k.providers, k.digests), collectCorrectable)
		if err != nil || len(letters) == 0 {
			return err
		}
		if err := k.count(ctx, letters); err != nil {
			return err
		}
		after = letters[len(letters)-1].ID
		if k.plan.AtLeast = k.bytes > maxParsedBytes || time.Now().After(k.until); k.plan.AtLeast {
			return nil
		}
	}
}

func collectCorrectable(row pgx.CollectableRow) (d event.DeadLetter, err error) {
	var receipt []byte
	if err := row.Scan(&d.ID, &receipt, &d.Body); err != nil {
		return d, err
	}
	if err := json.Unmarshal(receipt, &d.Receipt); err != nil {
		return d, fmt.Errorf("decode receipt: %w", err)
	}
	return d, nil
}

// count counts a page. Events that can't be parsed keep their keys.
func (k *keyPlan) count(ctx context.Context, letters []event.DeadLetter) error {
	var corrected []event.Receipt
	for _, d := range letters {
		k.bytes += len(d.Body)
		p, err := k.parse(d.Receipt, d.Body)
		switch {
		case err != nil:
		case p.Splits > 0:
			k.plan.Splits++
		case p.Identity != nil && keys.Corrects(d.Receipt, *p.Identity):
			corrected = append(corrected, d.Receipt.IdentifiedAs(*p.Identity))
		}
	}
	if len(corrected) == 0 {
		return nil
	}
	k.plan.CorrectedKeys += int64(len(corrected))
	shared := make([]bool, len(corrected))
	for n, r := range corrected {
		key := [2]string{r.Provider, r.Key}
		first, known := k.planned[key]
		if shared[n] = known && keys.IsWithinWindow(r, first.ReceivedAt); !known {
			k.planned[key] = r
		}
	}
	b := &pgx.Batch{}
	keys.QueueOwners(b, "", corrected, func(n int, _ string) { shared[n] = true })
	if err := k.store.DB.SendRead(ctx, b); err != nil {
		return err
	}
	for _, is := range shared {
		if is {
			k.plan.SharedKeys++
		}
	}
	return nil
}
