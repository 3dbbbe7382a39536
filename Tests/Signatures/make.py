#!/usr/bin/env python3
"""Writes vectors.json: requests to S3 stores, and what botocore's signer makes of them.

Run it after a change here: `Tests/Signatures/make.py > Tests/Signatures/vectors.json`. It needs
botocore; the vectors were made with the version that they name.
"""

import datetime
import json
from unittest import mock

import botocore
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEY = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
TOKEN = "FwoGZXIvYXdzE//+token=="
HOST = "https://bucket.s3.eu-central-1.amazonaws.com"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
UNSIGNED = "UNSIGNED-PAYLOAD"

# Name, method, address, fields, hash of the body, seconds since 1970, with a session token.
HEADERS = [
    ("a plain PUT", "PUT", HOST + "/key", {}, UNSIGNED, 1369353600, False),
    ("with Content-MD5 and a type", "PUT", HOST + "/a/b.txt",
     {"Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg==", "Content-Type": "text/plain; charset=utf-8"},
     EMPTY, 1700000000, False),
    ("odd characters in the key", "PUT",
     HOST + "/a%20b%2Bc%21%27%28%29%2A%7E~%C3%A9/%25zz//x%3Fy%23z%3D%26%40%3A%3B%2C%24", {},
     UNSIGNED, 1700000000, False),
    ("a key that looks like a directory", "GET", HOST + "/dir//sub/", {}, EMPTY, 1700000000, False),
    ("spaces in a value", "PUT", HOST + "/key", {"x-amz-meta-title": "  two   spaces  here "},
     UNSIGNED, 1700000000, False),
    ("a query without a value", "POST", HOST + "/key?uploads", {}, EMPTY, 1700000000, False),
    ("a query to be sorted", "PUT", HOST + "/key?uploadId=a-b_c.d~e&partNumber=10", {}, UNSIGNED,
     1700000000, False),
    ("repeated names in a query", "GET", HOST + "/key?b=2&a=2&a=1&a=&B=0&a=10", {}, EMPTY,
     1700000000, False),
    ("an encoded query", "GET", HOST + "/key?prefix=a%2Fb%20c&x=%C3%A9%3D&uploadId=q%2Bw%3D%3D",
     {}, EMPTY, 1700000000, False),
    ("one name is the beginning of another", "GET", HOST + "/key?ab=1&a=2&a-b=3&a%20=4", {}, EMPTY,
     1700000000, False),
    ("a session token", "DELETE", HOST + "/key?uploadId=u", {}, EMPTY, 1700000000, True),
    ("a port and a path style", "PUT", "http://127.0.0.1:9000/my-bucket/key", {}, EMPTY,
     1700000000, False),
    ("a default port", "PUT", "https://store.example:443/my-bucket/key", {}, UNSIGNED, 1700000000,
     False),
    ("conditions and fields of the object", "PUT", HOST + "/key",
     {"If-None-Match": "*", "x-amz-storage-class": "STANDARD_IA", "Cache-Control": "no-cache",
      "User-Agent": "is not signed"}, UNSIGNED, 1700000000, False),
    ("a leap day, one second before midnight", "HEAD", HOST + "/key", {}, EMPTY, 1709251199, False),
]

# Name, method, address, seconds of validity, seconds since 1970, with a session token.
PRESIGNED = [
    ("a download", "GET", HOST + "/key", 3600, 1369353600, False),
    ("an upload with a token", "PUT", HOST + "/a%20b%2Bc", 604800, 1700000000, True),
    ("with a query of its own", "GET", HOST + "/key?versionId=v%2F1&response-content-type=a%2Fb",
     60, 1700000000, False),
    ("a port and a path style", "PUT", "http://127.0.0.1:9000/my-bucket/%C3%A9", 1, 1700000000,
     False),
]


def at(seconds):
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return mock.patch.object(botocore.auth, "get_current_datetime",
                             lambda *_, **__: time.replace(tzinfo=None), create=True)


def credentials(has_token):
    return Credentials(*KEY, TOKEN if has_token else None)


def signed(name, method, url, fields, payload, seconds, has_token):
    request = AWSRequest(method, url, headers=fields)
    signer = botocore.auth.S3SigV4Auth(credentials(has_token), "s3", "eu-central-1")
    # It would hash the body, which is not here.
    with at(seconds), mock.patch.object(signer, "payload", lambda _: payload):
        signer.add_auth(request)
    return {"name": name, "method": method, "url": url, "fields": fields, "payload": payload,
            "seconds": seconds, "hasToken": has_token,
            "authorization": request.headers["Authorization"]}


def presigned(name, method, url, validity, seconds, has_token):
    request = AWSRequest(method, url)
    with at(seconds):
        botocore.auth.S3SigV4QueryAuth(
            credentials(has_token), "s3", "eu-central-1", expires=validity).add_auth(request)
    return {"name": name, "method": method, "url": url, "validity": validity, "seconds": seconds,
            "hasToken": has_token, "signed": request.url}


print(json.dumps({
    "botocore": botocore.__version__, "accessKey": KEY[0], "secret": KEY[1], "token": TOKEN,
    "headers": [signed(*vector) for vector in HEADERS],
    "presigned": [presigned(*vector) for vector in PRESIGNED],
}, indent=1))
