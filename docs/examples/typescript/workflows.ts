import { proxyActivities } from "@temporalio/workflow";
import type * as activities from "./activities.js";

const { fulfill } = proxyActivities<typeof activities>({ startToCloseTimeout: "1 minute" });

// OrderWorkflow handles one event. Holdfast starts it once, with the workflow ID of the subscription.
export async function OrderWorkflow(event: activities.Envelope): Promise<string> {
  return await fulfill(event);
}
