"use strict";
// What the page was made of, and what is switched on.

const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.runs;
const tip = document.getElementById("tip");
const card = document.getElementById("run");
// The keys of the series that are switched off.
const off = new Set(JSON.parse(sessionStorage.getItem("off") || "[]"));
