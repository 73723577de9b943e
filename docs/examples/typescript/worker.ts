// A worker for a workflow that Holdfast starts for each event of a subscription.
import { fileURLToPath } from "node:url";
import { NativeConnection, Worker } from "@temporalio/worker";
import * as activities from "./activities.js";

const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS ?? "127.0.0.1:7233" });
const worker = await Worker.create({
  connection,
  namespace: process.env.TEMPORAL_NAMESPACE ?? "default",
  taskQueue: "orders", // the one of `holdfast subscription create --task-queue`
  workflowsPath: fileURLToPath(new URL("./workflows.js", import.meta.url)),
  activities,
});
await worker.run();
await connection.close();
