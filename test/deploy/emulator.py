"""MiniStack with what it lacks for this test: three features of AWS that our stack relies on.

1. EventBridge Scheduler replaces `<aws.scheduler.scheduled-time>` in the input of a target. MiniStack passes it on as it stands.
2. IAM knows the partition keys of a request to DynamoDB as `dynamodb:LeadingKeys`. MiniStack evaluates policies (AUTH=true),
   but does not fill that key, so every statement of ours would refuse everything.
3. CloudFormation takes alarms on expressions of several metrics. MiniStack refuses them; here they become alarms on the first of the metrics.

Policies are enforced for calls to DynamoDB and Lambda, which are those that our roles are about. The deployer's roles are the CDK's own,
and their conditions use further keys that MiniStack does not fill.
"""

import contextvars
import json
import re
import sys
from datetime import datetime, timezone

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb, eventbridge, scheduler
from ministack.services.cloudformation import provisioners

ENFORCED_SERVICES = {"dynamodb", "lambda"}
LEADING_KEYS = "dynamodb:LeadingKeys"
TRANSACTION_MEMBERS = ("ConditionCheck", "Put", "Update", "Delete", "Get")
EQUALITY = re.compile(r"(#?\w+)\s*=\s*(:\w+)")

# Each action of a transaction is judged by its own key; the checks come in the order of the actions.
transaction_keys = contextvars.ContextVar("transaction_keys", default=None)


def hash_key(table_name, index_name=None):
    table = dynamodb._tables.get(table_name.rsplit("/", 1)[-1]) or {}
    schema = table.get("KeySchema") or []
    for index in table.get("GlobalSecondaryIndexes") or []:
        if index["IndexName"] == index_name:
            schema = index["KeySchema"]
    return next((key["AttributeName"] for key in schema if key["KeyType"] == "HASH"), None)


def scalar(value):
    return next(iter(value.values())) if isinstance(value, dict) and value else None


def keys_of_one(data):
    name = hash_key(data.get("TableName", ""), data.get("IndexName"))
    for holder in ("Key", "Item"):
        if name in (data.get(holder) or {}):
            return [scalar(data[holder][name])]
    names, values = data.get("ExpressionAttributeNames") or {}, data.get("ExpressionAttributeValues") or {}
    equalities = EQUALITY.findall(data.get("KeyConditionExpression") or "")
    return [scalar(values.get(value)) for attribute, value in equalities if names.get(attribute, attribute) == name]


def keys_of(data):
    if isinstance(data.get("RequestItems"), dict):
        return [
            scalar(key.get(hash_key(table)))
            for table, request in data["RequestItems"].items()
            for key in (request.get("Keys") or [] if isinstance(request, dict) else [])
        ]
    return keys_of_one(data)


def parse(body):
    try:
        data = json.loads(body or b"{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def with_leading_keys(original):
    def service_context(body):
        keys = keys_of(parse(body))
        return {**original(body), **({LEADING_KEYS: keys} if keys else {})}

    return service_context


def with_transaction_keys(original):
    def transaction_checks(iam_action, body, region, account_id):
        checks = original(iam_action, body, region, account_id)
        items = parse(body).get("TransactItems") or [] if checks else []
        members = [item[member] for item in items for member in TRANSACTION_MEMBERS if member in item]
        transaction_keys.set([keys_of_one(member) for member in members] if checks else None)
        return checks

    return transaction_checks


def for_our_roles(original):
    def enforce(access_key_id, iam_action, service, region, resource_arn="*", service_context=None):
        if service not in ENFORCED_SERVICES:
            return None
        context = dict(service_context or {})
        pending = transaction_keys.get()
        if service == "dynamodb" and pending:
            context[LEADING_KEYS] = pending.pop(0)
        denied = original(access_key_id, iam_action, service, region, resource_arn, context)
        if denied:
            print(f"DENIED {iam_action} on {resource_arn}, keys {context.get(LEADING_KEYS)}", file=sys.stderr, flush=True)
        return denied

    return enforce


def with_scheduled_time(original):
    def invoke_target(target, event, rule, view=None):
        text = target.get("Input") or ""
        if "<aws.scheduler.scheduled-time>" in text:
            moment = datetime.fromtimestamp(event["Time"], tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            target = {**target, "Input": text.replace("<aws.scheduler.scheduled-time>", moment)}
        return original(target, event, rule, view)

    return invoke_target


def with_metric_math(original):
    def alarm_record(name, props):
        stats = [metric["MetricStat"]["Metric"] for metric in props.get("Metrics") or [] if "MetricStat" in metric]
        if not stats:
            return original(name, props)
        plain = {key: value for key, value in props.items() if key != "Metrics"}
        return original(name, {**plain, **stats[0], "Statistic": "Sum", "Period": 300})

    return alarm_record


iam_actions.dynamodb_service_context = with_leading_keys(iam_actions.dynamodb_service_context)
iam_actions.dynamodb_transaction_checks = with_transaction_keys(iam_actions.dynamodb_transaction_checks)
iam_evaluator.enforce = for_our_roles(iam_evaluator.enforce)
provisioners._cw_metric_alarm_record = with_metric_math(provisioners._cw_metric_alarm_record)
eventbridge._invoke_target = with_scheduled_time(eventbridge._invoke_target)
# Look every second instead of every ten: a schedule's minute is then a minute.
scheduler._SCHEDULE_TICK_INTERVAL = 1

if __name__ == "__main__":
    app.main()
