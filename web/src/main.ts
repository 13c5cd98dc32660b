import { mount } from "svelte";
import App from "./App.svelte";
import "./theme.css";
import "./app.css";

const place = document.getElementById("app") ?? document.body;
export default mount(App, { target: place });
