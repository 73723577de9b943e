import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { pipeline, Readable } from "node:stream";
import { test } from "node:test";
import { Publisher, PublishError } from "../dist/index.js";
import { operator } from "../dist/operator.js";

const accepted = JSON.stringify({
  ok: true,
  request_id: "req_1",
  events: [{ workflow_id: "events:shop:evt_1", event_id: "01a2", status: "accepted" }],
});
const refused = JSON.stringify({ error: { code: "bad", message: "not this one", request_id: "req_2" } });
const paid = { id: "evt_1", type: "order.paid", data: { id: "o1" } };

// publicPort responds to the nth request with the nth handler, and to further ones with the last.
async function publicPort(t, ...handlers) {
  const bodies = [];
  const server = createServer(async (request, response) => {
    const body = await new Response(request).text();
    if (request.url !== "/events" || request.headers.authorization !== "Bearer token") {
      response.writeHead(418).end();
      return;
    }
    const handle = handlers[Math.min(bodies.length, handlers.length - 1)];
    bodies.push(body);
    handle(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  return { bodies, publisher: (options) => new Publisher({ url, token: "token", source: "shop", ...options }) };
}

const respond = (status, body, headers = {}) => (response) => response.writeHead(status, headers).end(body);

// cut ends the connection without a response.
const cut = (response) => response.socket.destroy();

test("retries send the same bytes", async (t) => {
  const port = await publicPort(t, cut, respond(503, refused), respond(202, accepted));
  assert.deepEqual(await port.publisher().publish(paid), {
    eventId: "01a2", workflowId: "events:shop:evt_1", status: "accepted", duplicate: false, conflict: false, requestId: "req_1",
  });
  const body = '{"id":"evt_1","type":"order.paid","source":"shop","data":{"id":"o1"}}';
  assert.deepEqual(port.bodies, [body, body, body]);
});

test("only passing failures are retried", async (t) => {
  const retryable = [408, 429, 500, 503];
  for (const status of [302, 400, 401, 404, 409, 413, 422, ...retryable]) {
    const port = await publicPort(t, respond(status, refused, { location: "/elsewhere" }), respond(202, accepted));
    const want = retryable.includes(status);
    await assert.rejects(port.publisher({ retryFor: 0 }).publish(paid), (error) => {
      assert(error instanceof PublishError);
      const { id, attempts, code, requestId } = error;
      assert.deepEqual({ id, attempts, code, requestId }, { id: "evt_1", attempts: 1, code: "bad", requestId: "req_2" });
      assert.equal(error.status, status);
      assert.equal(error.retryable, want, `${status}`);
      assert.equal(error.message, `publish event evt_1: attempt 1: status ${status}: bad: not this one`);
      return true;
    });
    assert.equal(port.bodies.length, 1);
  }
});

test("an option that is undefined has its default", async (t) => {
  const port = await publicPort(t, respond(503, refused, { "retry-after": "3600" }));
  await assert.rejects(port.publisher({ retryFor: undefined, timeout: undefined }).publish(paid), { attempts: 1, status: 503 });
});

test("a token or an address that can't be sent is refused, and isn't in the error", () => {
  const url = "http://127.0.0.1:1";
  for (const options of [{ url, token: "top\nsecret" }, { url: "http://top:secret@127.0.0.1:1", token: "t" }]) {
    assert.throws(() => new Publisher({ source: "shop", ...options }), withoutSecret);
  }
  assert.throws(() => new Publisher({ source: "shop", url: "nowhere", token: "t" }), TypeError);
  assert.throws(() => operator({ url, token: "top\nsecret" }), withoutSecret);
});

const withoutSecret = (error) => error instanceof TypeError && !error.message.includes("secret");

test("of a response, a part is read", async (t) => {
  let sent = 0;
  const chunk = Buffer.alloc(1 << 16, "x");
  function* large() {
    for (; sent < 1 << 27; sent += chunk.length) {
      yield chunk;
    }
  }
  const port = await publicPort(t, (response) => {
    response.writeHead(503);
    pipeline(Readable.from(large()), response, () => {});
  });
  await assert.rejects(port.publisher({ retryFor: 0 }).publish(paid), { status: 503, code: "unknown" });
  assert(sent < 1 << 26, `${sent}`);
});

test("an error of a proxy has no code of Holdfast", async (t) => {
  const port = await publicPort(t, respond(404, '{"error":"Not Found"}'));
  await assert.rejects(port.publisher().publish(paid), { code: "unknown", message: /status 404: unknown: Not Found$/ });
});

test("an event type is checked", async (t) => {
  const event = { workflow_id: "w", status: "accepted", warning: "order.paid version 2: /data/id: required" };
  const port = await publicPort(t, respond(202, JSON.stringify({ events: [event] })));
  const receipt = await port.publisher().publish({ id: "1", type: "order.paid", version: "2", data: 1 });
  assert.equal(receipt.warning, event.warning);
  assert.deepEqual(port.bodies, ['{"id":"1","type":"order.paid","source":"shop","version":"2","data":1}']);
});

test("Retry-After is waited for", async (t) => {
  const inTwoSeconds = () => new Date(Date.now() + 2000).toUTCString(); // in whole seconds, so it is more than 1 from now
  for (const [header, pause] of [[() => "1", 1000], [() => "soon", 0], [inTwoSeconds, 950]]) {
    const later = (response) => respond(429, refused, { "retry-after": header() })(response);
    const port = await publicPort(t, later, respond(202, accepted));
    const began = performance.now();
    await port.publisher().publish(paid);
    assert(performance.now() - began >= pause, `${pause}`);
    assert.equal(port.bodies.length, 2);
  }
});

test("a long Retry-After ends the attempts", async (t) => {
  const port = await publicPort(t, respond(503, refused, { "retry-after": "3600" }));
  await assert.rejects(port.publisher().publish(paid), { retryAfter: 3_600_000, retryable: true, attempts: 1 });
});

test("a 2xx is a receipt, whatever its body", async (t) => {
  for (const handle of [
    respond(200, "thanks"),
    (response) => {
      response.writeHead(202, { "content-length": 500 }).write(accepted.slice(0, 40));
      setTimeout(() => response.socket.destroy(), 50);
    },
  ]) {
    const port = await publicPort(t, handle);
    assert.deepEqual(await port.publisher().publish(paid), { duplicate: false, conflict: false });
    assert.equal(port.bodies.length, 1);
  }
});

test("the signal ends the attempts", async (t) => {
  const controller = new AbortController();
  const port = await publicPort(t, (response) => {
    respond(503, refused, { "retry-after": "30" })(response);
    setTimeout(() => controller.abort(), 50);
  });
  await assert.rejects(port.publisher().publish(paid, controller.signal), { name: "AbortError" });
  assert.equal(port.bodies.length, 1);
});

test("an attempt without a response ends", async (t) => {
  const port = await publicPort(t, () => {});
  await assert.rejects(port.publisher({ retryFor: 0, timeout: 100 }).publish(paid), { status: 0, code: "no_response", retryable: true });
});

test("an event without an ID is refused, and the time is sent", async (t) => {
  const port = await publicPort(t, respond(202, accepted));
  for (const id of ["", undefined, null]) {
    await assert.rejects(port.publisher().publish({ ...paid, id }), TypeError);
  }
  await port.publisher().publish({ id: "1", type: "t", time: new Date(1e12) });
  assert.deepEqual(port.bodies, ['{"id":"1","type":"t","source":"shop","time":"2001-09-09T01:46:40.000Z"}']);
});
